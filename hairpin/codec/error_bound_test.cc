// How far a decoded block may be from what was encoded, over random blocks of any magnitude.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hairpin/codec/bf16.h"
#include "hairpin/codec/codec.h"
#include "hairpin/codec/test_values.h"

namespace hairpin::codec {
namespace {

using wire::Codec;

Codec any_blocked() { return *rc::gen::element(Codec::int8, Codec::int4); }

// Magnitudes within a block differ by up to 2^40, so that some have an outlier; none is near the
// largest float, where decoding may overflow.
Floats any_block(std::size_t n) {
  const int centre = *rc::gen::inRange(-140, 80);
  Floats block(n);
  for (auto& x : block) {
    const int exponent = centre + *rc::gen::inRange(-20, 21) * *rc::gen::inRange(0, 2);
    x = std::ldexp(static_cast<float>(*rc::gen::inRange(-4096, 4097)) / 4096.0f, exponent);
  }
  return block;
}

struct RoundTrip {
  Bytes payload;
  Floats back;
  double scale;
};

RoundTrip round_trip(Codec codec, const Floats& block) {
  const auto columns = static_cast<std::uint32_t>(block.size());
  RoundTrip trip{Bytes(encoded_size(codec, 1, columns)), Floats(block.size()), 0};
  encode(codec, block, columns, trip.payload);
  RC_ASSERT(decode(codec, trip.payload, columns, trip.back).has_value());
  std::uint16_t bits;
  std::memcpy(&bits, trip.payload.data(), 2);
  trip.scale = std::max(double{fp32_from_bf16(bits)}, 0x1p-126);
  return trip;
}

RC_GTEST_PROP(ErrorBound, AnElementOfAShortBlockIsWithinHalfAScale, ()) {
  const auto codec = any_blocked();
  const auto block = any_block(*rc::gen::inRange<std::size_t>(1, 64));
  const auto trip = round_trip(codec, block);
  for (std::size_t i = 0; i < block.size(); ++i)
    RC_ASSERT(std::abs(double{block[i]} - trip.back[i]) <= trip.scale * 0.50001);
}

// 64 coefficients, each within half a scale; decoding multiplies lengths by 8: sqrt(64) / 2 * 8.
RC_GTEST_PROP(ErrorBound, AFullBlocksErrorIsAtMost32ScalesLong, ()) {
  const auto codec = any_blocked();
  const auto block = any_block(64);
  const auto trip = round_trip(codec, block);
  double square = 0;
  for (std::size_t i = 0; i < 64; ++i) square += std::pow(double{block[i]} - trip.back[i], 2);
  RC_ASSERT(std::sqrt(square) <= 32.01 * trip.scale);
}

// The scale itself: as small as the largest coefficient allows.
RC_GTEST_PROP(ErrorBound, TheScaleFollowsTheMeanMagnitude, ()) {
  const auto codec = any_blocked();
  const auto block = any_block(64);
  const auto trip = round_trip(codec, block);
  double mean = 0;
  for (const float x : block) mean += std::abs(double{x}) / 64;
  const double levels = codec == Codec::int8 ? 127 : 7;
  RC_ASSERT(trip.scale <= std::max(1.004 * mean / levels, 0x1p-126));
}

// What was decoded is on the grid: encoding it again changes nothing, on any machine.
RC_GTEST_PROP(ErrorBound, EncodingWhatWasDecodedGivesTheSameBytes, ()) {
  const auto codec = any_blocked();
  const auto trip = round_trip(codec, any_block(*rc::gen::inRange<std::size_t>(1, 65)));
  RC_ASSERT(round_trip(codec, trip.back).payload == trip.payload);
}

// An error that training would notice as a loss of signal: int8 is off by about 0.6 % of a block's
// length on ordinary values, int4 by 11 %, one outlier or none.
TEST(ErrorBound, IsSmallBesideTheBlockWithOrWithoutAnOutlier) {
  for (const float outlier : {0.0f, 10.0f, 1000.0f})
    for (const auto codec : {Codec::int8, Codec::int4}) {
      auto row = random_floats(6400, 4);
      for (std::size_t i = 20; i < row.size(); i += 64) row[i] = outlier;
      Floats back(row.size());
      Bytes payload(encoded_size(codec, 1, 6400));
      encode(codec, row, 6400, payload);
      ASSERT_TRUE(decode(codec, payload, 6400, back));
      double error = 0;
      double length = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        error += std::pow(double{row[i]} - back[i], 2);
        length += std::pow(double{row[i]}, 2);
      }
      EXPECT_LT(std::sqrt(error / length), codec == Codec::int8 ? 0.007 : 0.13) << outlier;
    }
}

}  // namespace
}  // namespace hairpin::codec
