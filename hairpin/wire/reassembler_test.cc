#include "hairpin/wire/reassembler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

namespace hairpin::wire {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMax = std::uint64_t{1} << 20;
constexpr Moment kStart{};

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

struct Fragment {
  FragmentHeader header;
  Bytes bytes;
};

// A frame cut into fragments of `size` bytes.
std::vector<Fragment> cut(const Message& message, std::uint64_t sequence,
                          std::uint64_t controls = 0, std::uint64_t size = kFragmentUnit) {
  const auto frame = encode(message, sequence);
  std::vector<Fragment> fragments;
  for (std::uint64_t offset = 0; offset < frame.size(); offset += size) {
    const auto part = ByteSpan(frame).subspan(offset, std::min(size, frame.size() - offset));
    fragments.push_back({{.lane = lane_of(message),
                          .frame = sequence,
                          .controls = controls,
                          .frame_bytes = frame.size(),
                          .offset = offset,
                          .bytes = static_cast<std::uint32_t>(part.size())},
                         Bytes(part.begin(), part.end())});
  }
  return fragments;
}

WeightsChunk chunk(std::uint32_t entry, std::size_t size) {
  return {.entry = entry,
          .offset = 0,
          .payload = Bytes(size, std::byte{static_cast<unsigned char>(entry)})};
}

Result<std::vector<Arrived>> feed(Reassembler& in, int connection, const Fragment& fragment,
                                  Moment now = kStart) {
  EXPECT_TRUE(in.admits(fragment.header, kMax));
  HAIRPIN_TRY(const auto place, in.place(connection, fragment.header, now));
  std::ranges::copy(fragment.bytes, place.begin());
  in.came(connection, fragment.bytes.size(), now);
  return in.filled(connection, now);
}

std::vector<std::uint32_t> entries(const std::vector<Arrived>& arrived) {
  std::vector<std::uint32_t> numbers;
  for (const auto& one : arrived) numbers.push_back(std::get<WeightsChunk>(one.message).entry);
  return numbers;
}

TEST(Reassembler, AFrameOverTwoConnections) {
  Reassembler in;
  const auto message = chunk(7, 50000);
  const auto parts = cut(message, 0);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_TRUE(feed(in, 1, parts[1]).value().empty());
  EXPECT_TRUE(feed(in, 2, parts[0]).value().empty());
  EXPECT_TRUE(feed(in, 2, parts[3]).value().empty());
  EXPECT_EQ(in.open_frames(), 1u);
  const auto whole = feed(in, 1, parts[2]).value();
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].message, Message(message));
  EXPECT_EQ(in.open_frames(), 0u);
  EXPECT_EQ(in.held_bytes(), 0u);
}

TEST(Reassembler, BulkComesInTheOrderOfSending) {
  Reassembler in;
  EXPECT_TRUE(feed(in, 1, cut(chunk(1, 10), 1)[0]).value().empty());
  EXPECT_TRUE(feed(in, 2, cut(chunk(2, 10), 2)[0]).value().empty());
  EXPECT_EQ(entries(feed(in, 3, cut(chunk(0, 10), 0)[0]).value()),
            (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Reassembler, ControlOvertakesBulkButBulkNeverControl) {
  Reassembler in;
  const auto big = cut(chunk(0, 50000), 0, 1);  // one control frame was sent before it
  for (const auto& part : big) EXPECT_TRUE(feed(in, 1, part).value().empty());
  const auto arrived = feed(in, 0, cut(Manifest{.step = 3}, 0)[0]).value();
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Manifest>(arrived[0].message));
  EXPECT_TRUE(std::holds_alternative<WeightsChunk>(arrived[1].message));

  const auto next = cut(chunk(1, 50000), 1, 1);
  EXPECT_TRUE(feed(in, 0, next[0]).value().empty());
  EXPECT_EQ(feed(in, 0, cut(Manifest{.step = 4}, 1)[0]).value().size(), 1u);  // in its midst
  EXPECT_TRUE(feed(in, 0, next[1]).value().empty());
}

TEST(Reassembler, AGoodbyeIsLast) {
  Reassembler in;
  EXPECT_TRUE(feed(in, 2, cut(Goodbye{}, 1)[0]).value().empty());
  EXPECT_EQ(feed(in, 1, cut(chunk(0, 1), 0)[0]).value().size(), 2u);
}

TEST(Reassembler, WhatContradictsIsRefused) {
  const auto parts = cut(chunk(0, 50000), 0);
  const auto after_first = [&](int connection, auto change) {
    Reassembler in;
    EXPECT_TRUE(feed(in, 1, parts[1]));
    auto next = parts[2];
    change(next.header);
    const auto refused = in.place(connection, next.header, kStart);
    EXPECT_FALSE(refused);
    return refused ? std::string() : refused.error().message;
  };
  expect_contains(after_first(2, [&](auto& h) { h = parts[1].header; }), "a second time");
  expect_contains(after_first(1, [&](auto& h) { h = parts[0].header; }), "out of order");
  expect_contains(after_first(2, [](auto& h) { h.frame_bytes += 1; }), "another size");
  expect_contains(after_first(2, [](auto& h) { h.controls = 1; }), "another size");
  expect_contains(after_first(1, [](auto& h) { h.lane = Lane::control; }),
                  "on another than the first connection");
  expect_contains(after_first(0, [](auto& h) { h.lane = Lane::control, h.frame = 1; }),
                  "where control frame 0 was due");
  expect_contains(after_first(0, [](auto& h) { h.lane = Lane::control; }), "out of order");
}

TEST(Reassembler, AFrameIsWhatItsFragmentsSaid) {
  const auto refusal = [](const Message& message, auto change) {
    Reassembler in;
    auto part = cut(message, 0)[0];
    change(part);
    const auto fed = feed(in, 0, part);
    EXPECT_FALSE(fed);
    return fed ? std::string() : fed.error().message;
  };
  expect_contains(refusal(Manifest{}, [](auto& f) { f.header.lane = Lane::bulk; }),
                  "another frame's header");
  expect_contains(refusal(chunk(0, 9), [](auto& f) { f.bytes.back() ^= std::byte{1}; }), "damaged");
  Reassembler in;
  EXPECT_TRUE(feed(in, 0, cut(chunk(0, 9), 0)[0]));
  auto wrong = cut(chunk(0, 9), 0)[0];
  wrong.header.frame = 1;
  expect_contains(feed(in, 0, wrong).error().message, "another frame's header");
  expect_contains(in.place(1, cut(chunk(0, 9), 0)[0].header, kStart).error().message,
                  "a second time");
}

TEST(Reassembler, MemoryIsBoundedByMakingConnectionsWait) {
  Reassembler in;
  const auto header = [](std::uint64_t frame, std::uint64_t bytes) {
    return FragmentHeader{.lane = Lane::bulk,
                          .frame = frame,
                          .frame_bytes = bytes,
                          .bytes = static_cast<std::uint32_t>(std::min(bytes, kFragmentUnit))};
  };
  for (std::uint64_t frame = 1; frame <= 4; ++frame) {
    EXPECT_TRUE(in.admits(header(frame, kMax), kMax));
    EXPECT_TRUE(feed(in, static_cast<int>(frame), {header(frame, kMax), Bytes(kFragmentUnit)}));
  }
  EXPECT_EQ(in.held_bytes(), 4 * kMax);
  EXPECT_FALSE(in.admits(header(5, 100), kMax));
  EXPECT_TRUE(in.admits(header(4, kMax), kMax));                     // more of one that is there
  EXPECT_TRUE(in.admits(header(0, kMax), kMax));                     // what the others wait for
  EXPECT_TRUE(in.admits({.frame_bytes = 100, .bytes = 100}, kMax));  // control

  Reassembler small;
  for (std::uint64_t frame = 1; frame <= Reassembler::kMaxOpenFrames; ++frame)
    EXPECT_TRUE(feed(small, 1, cut(chunk(0, 1), frame)[0]));
  EXPECT_FALSE(small.admits(header(Reassembler::kMaxOpenFrames + 1, 40), kMax));
}

TEST(Reassembler, TimesAndTheBytesBetween) {
  Reassembler in;
  const auto parts = cut(chunk(0, 50000), 0), between = cut(chunk(1, 20000), 1);
  EXPECT_TRUE(feed(in, 1, parts[0], kStart + 10ms));
  EXPECT_TRUE(feed(in, 2, between[0], kStart + 11ms));
  EXPECT_TRUE(feed(in, 1, parts[1], kStart + 20ms));
  EXPECT_TRUE(feed(in, 1, parts[2], kStart + 25ms));
  const auto arrival = feed(in, 1, parts[3], kStart + 30ms).value().at(0).arrival;
  EXPECT_EQ(arrival.began, kStart + 10ms);
  EXPECT_EQ(arrival.ended, kStart + 30ms);
  EXPECT_EQ(arrival.measured_from, kStart + 10ms);
  EXPECT_EQ(arrival.bytes_after, 50000 + 44 - kFragmentUnit + between[0].bytes.size());
}

// Bulk frames of any sizes, dealt out to connections at random, each connection in order.
RC_GTEST_PROP(Reassembler, AnyDealingGivesTheSameMessages, ()) {
  const auto sizes =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 70000));
  std::array<std::deque<Fragment>, 3> dealt;
  std::size_t left = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (auto& part : cut(chunk(static_cast<std::uint32_t>(i), sizes[i]), i)) {
      dealt.at(*rc::gen::inRange<std::size_t>(0, 3)).push_back(std::move(part));
      ++left;
    }
  Reassembler in;
  std::uint32_t next = 0;
  while (left > 0) {
    const auto which = *rc::gen::inRange<std::size_t>(0, 3);
    auto& queue = dealt.at(which);
    if (queue.empty() || !in.admits(queue.front().header, kMax)) continue;
    const auto due = feed(in, static_cast<int>(which), queue.front()).value();
    for (const auto& arrived : due) {
      RC_ASSERT(arrived.message == Message(chunk(next, sizes[next])));
      ++next;
    }
    queue.pop_front();
    --left;
  }
  RC_ASSERT(next == sizes.size());
  RC_ASSERT(in.held_bytes() == 0u);
}

}  // namespace
}  // namespace hairpin::wire
