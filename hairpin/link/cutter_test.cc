#include "hairpin/link/cutter.h"

#include <gtest/gtest.h>

#include "hairpin/wire/reassembler.h"

namespace hairpin::link {
namespace {

wire::WeightsChunk chunk(std::uint32_t entry, std::size_t size) {
  return {.entry = entry, .offset = 0, .payload = Bytes(size, std::byte{7})};
}

struct Bench {
  Endpoint endpoint{wire::Role::edge};
  Cutter cutter{endpoint, nullptr};
  Bytes out;

  // The next fragment's header, the fragment having been handed over.
  std::optional<wire::FragmentHeader> next(Cutter::Lanes lanes = {}) {
    const auto cut = cutter.next(lanes, out);
    if (!cut) return std::nullopt;
    cutter.done(*cut);
    return header();
  }
  wire::FragmentHeader header() const {
    return wire::decode_fragment_header(ByteSpan(out).first(wire::kFragmentHeaderBytes),
                                        std::uint64_t{1} << 30)
        .value();
  }
};

TEST(Cutter, ControlPassesBetweenTheFragmentsOfBulk) {
  Bench bench;
  ASSERT_TRUE(bench.endpoint.send(chunk(0, 200000)));
  EXPECT_EQ(bench.next()->lane, wire::Lane::bulk);
  ASSERT_TRUE(bench.endpoint.send(wire::Manifest{}));
  EXPECT_EQ(bench.next()->lane, wire::Lane::control);
  const auto rest = bench.next();
  EXPECT_EQ(rest->lane, wire::Lane::bulk);
  EXPECT_EQ(rest->offset, Cutter::kFragmentBytes);
  EXPECT_EQ(rest->controls, 0u);
  ASSERT_TRUE(bench.endpoint.send(chunk(1, 1)));
  while (const auto header = bench.next()) EXPECT_EQ(header->controls, header->frame);
  EXPECT_TRUE(bench.endpoint.flush());
}

TEST(Cutter, WhatItCutsIsTheFrame) {
  Bench bench;
  const auto message = chunk(3, 150000);
  ASSERT_TRUE(bench.endpoint.send(message));
  Bytes frame;
  while (bench.next()) {
    const auto part = ByteSpan(bench.out).subspan(wire::kFragmentHeaderBytes);
    EXPECT_EQ(part.size(), bench.header().bytes);
    EXPECT_EQ(frame.size(), bench.header().offset);
    frame.insert(frame.end(), part.begin(), part.end());
  }
  EXPECT_EQ(frame, wire::encode(message, 0));
}

TEST(Cutter, LanesCanBeTakenApart) {
  Bench bench;
  ASSERT_TRUE(bench.endpoint.send(chunk(0, 1)));
  EXPECT_FALSE(bench.next({.control = true, .bulk = false}));
  ASSERT_TRUE(bench.endpoint.send(wire::Manifest{}));
  EXPECT_EQ(bench.next({.control = false, .bulk = true})->lane, wire::Lane::bulk);
  EXPECT_EQ(bench.next({.control = true, .bulk = false})->lane, wire::Lane::control);
}

TEST(Cutter, AGoodbyeWaitsForControlAndIsOverWithTheLastFragment) {
  Bench bench;
  ASSERT_TRUE(bench.endpoint.send(chunk(0, 1)));
  const auto first = bench.cutter.next({}, bench.out);
  ASSERT_TRUE(bench.endpoint.send(wire::Manifest{}));
  ASSERT_TRUE(bench.endpoint.send(wire::Goodbye{}));
  EXPECT_FALSE(bench.next({.control = false, .bulk = true}));
  EXPECT_TRUE(bench.next({.control = true, .bulk = false}));
  EXPECT_EQ(bench.next({.control = false, .bulk = true})->controls, 1u);
  EXPECT_FALSE(bench.cutter.finished());
  bench.cutter.done(*first);
  EXPECT_TRUE(bench.cutter.finished());
  EXPECT_TRUE(bench.endpoint.flush());
}

TEST(Cutter, ARefusalGivesUpTheFrameThatIsBeingCut) {
  Bench bench;
  ASSERT_TRUE(bench.endpoint.send(chunk(0, 200000)));
  const auto first = bench.cutter.next({}, bench.out);
  bench.endpoint.refuse({ErrorKind::peer, "no"});
  EXPECT_EQ(bench.next()->lane, wire::Lane::control);
  EXPECT_TRUE(bench.cutter.refused());
  bench.cutter.done(*first);
  EXPECT_FALSE(bench.next());
  EXPECT_EQ(bench.endpoint.sent().messages, 1u);
}

}  // namespace
}  // namespace hairpin::link
