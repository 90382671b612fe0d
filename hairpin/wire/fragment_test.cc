#include "hairpin/wire/fragment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace hairpin::wire {
namespace {

constexpr std::uint64_t kMax = std::uint64_t{1} << 20;

Bytes encoded(const FragmentHeader& header) {
  Bytes bytes;
  encode(header, bytes);
  return bytes;
}

std::string refusal_of(const FragmentHeader& header) {
  const auto decoded = decode_fragment_header(encoded(header), kMax);
  if (decoded) return "accepted";
  EXPECT_EQ(decoded.error().kind, ErrorKind::peer);
  return decoded.error().message;
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

// These bytes never change within protocol version 2.
TEST(Fragment, GoldenBytes) {
  const FragmentHeader header{.lane = Lane::bulk,
                              .frame = 5,
                              .controls = 3,
                              .frame_bytes = 0x20001,
                              .offset = 0x4000,
                              .bytes = 0x8000};
  EXPECT_EQ(to_hex(encoded(header)),
            "4850494e"
            "0200"
            "0100"
            "0500000000000000"
            "0300000000000000"
            "0100020000000000"
            "0040000000000000"
            "00800000");
  EXPECT_EQ(encoded(header).size(), kFragmentHeaderBytes);
  EXPECT_EQ(decode_fragment_header(encoded(header), kMax).value(), header);
}

TEST(Fragment, WhatIsWronglyCutIsRefused) {
  const FragmentHeader good{
      .lane = Lane::bulk, .frame_bytes = 100000, .offset = 16384, .bytes = 32768};
  EXPECT_EQ(refusal_of(good), "accepted");
  const auto with = [&](auto change) {
    auto header = good;
    change(header);
    return refusal_of(header);
  };
  const std::string cut = "which cannot be";
  expect_contains(with([](auto& h) { h.bytes = 0; }), cut);
  expect_contains(with([](auto& h) { h.offset = 16383; }), cut);
  expect_contains(with([](auto& h) { h.bytes = 32767; }), cut);
  expect_contains(with([](auto& h) { h.offset = 98304; }), cut);  // beyond the end
  expect_contains(with([](auto& h) { h.offset = std::uint64_t{0} - 16384; }), cut);
  expect_contains(with([](auto& h) { h.offset = 114688; }), cut);
  expect_contains(with([](auto& h) { h.frame_bytes = kHeaderBytes - 1; }), cut);
  EXPECT_EQ(with([](auto& h) { h.offset = 98304, h.bytes = 1696; }), "accepted");  // the last
  EXPECT_EQ(with([](auto& h) { h = {.frame_bytes = kMax, .bytes = kMaxFragmentBytes}; }),
            "accepted");
  expect_contains(
      with([](auto& h) { h = {.frame_bytes = kMax, .bytes = kMaxFragmentBytes + kFragmentUnit}; }),
      cut);
  expect_contains(with([](auto& h) { h.frame_bytes = kMax + 1; }), "at most 1048576 bytes");
}

TEST(Fragment, AnotherMagicVersionLaneOrFlag) {
  const auto changed = [](std::size_t index, std::uint8_t value) {
    auto bytes = encoded({.frame_bytes = 40, .bytes = 40});
    bytes[index] = std::byte{value};
    return decode_fragment_header(bytes, kMax).error().message;
  };
  expect_contains(changed(0, 'h'), "does not speak Hairpin's protocol");
  expect_contains(changed(4, 1), "version 1 and this site version 2");
  expect_contains(changed(6, 2), "lane 2");
  expect_contains(changed(7, 1), "flags 1");
  const auto bytes = encoded({.frame_bytes = 40, .bytes = 40});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_fragment_header(ByteSpan(bytes).first(size), kMax));
}

RC_GTEST_PROP(Fragment, AnyHeaderIsRefusedOrEncodesToItself, ()) {
  auto bytes = encoded({.frame_bytes = 40, .bytes = 40});
  const auto index = *rc::gen::inRange<std::size_t>(6, bytes.size());
  bytes[index] = std::byte{*rc::gen::arbitrary<std::uint8_t>()};
  if (const auto header = decode_fragment_header(bytes, kMax)) RC_ASSERT(encoded(*header) == bytes);
}

}  // namespace
}  // namespace hairpin::wire
