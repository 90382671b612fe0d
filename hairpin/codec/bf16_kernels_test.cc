// Against the definition in double, for every upper half and the lower halves around a tie.
#include "hairpin/codec/bf16_kernels.h"

#include <gtest/gtest.h>

#include <array>

#include "hairpin/base/bytes.h"
#include "hairpin/codec/bf16.h"
#include "hairpin/codec/test_values.h"

namespace hairpin::codec {
namespace {

constexpr std::array<std::uint32_t, 7> kLowerHalves{0, 1, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};

// The nearer of the two bfloat16 around x, the even one when x is in the middle.
std::uint16_t nearest(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto below = static_cast<std::uint16_t>(bits >> 16);  // towards zero
  if (std::isnan(x)) return 0x7fc0;
  if (std::isinf(x)) return below;
  const auto above = static_cast<std::uint16_t>(below + 1);
  const double low = std::abs(double{fp32_from_bf16(below)});
  // Above the largest bfloat16 lies 2^128, where infinity stands for it.
  const double high =
      (above & 0x7fff) == 0x7f80 ? 0x1p128 : std::abs(double{fp32_from_bf16(above)});
  const double to_low = std::abs(double{x}) - low;
  const double to_high = high - std::abs(double{x});
  if (to_low != to_high) return to_low < to_high ? below : above;
  return below % 2 == 0 ? below : above;
}

TEST(Bf16, RoundsToNearestEvenEverywhere) {
  Floats values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const auto lower : kLowerHalves)
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  Bytes bytes(2 * values.size());
  encode_bf16(values.data(), bytes.data(), values.size());
  ByteReader reader(bytes);
  for (const float x : values)
    ASSERT_EQ(reader.number<std::uint16_t>(), nearest(x)) << std::bit_cast<std::uint32_t>(x);
}

TEST(Bf16, DecodingIsExactAndInverse) {
  Bytes all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    ByteWriter(all).number(static_cast<std::uint16_t>(bits));
  Floats values(0x10000);
  decode_bf16(all.data(), values.data(), values.size());
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[bits]), bits << 16);
}

TEST(Bf16, AnElementHasTheSameBitsWhereverItLies) {
  const Floats values = random_bits(100, 1);
  Bytes all(200);
  encode_bf16(values.data(), all.data(), 100);
  for (std::size_t begin = 0; begin < 40; ++begin)
    for (std::size_t count = 0; count < 40; ++count) {
      Bytes part(2 * count + 1);
      encode_bf16(values.data() + begin, part.data() + 1, count);  // an odd address
      ASSERT_TRUE(std::equal(part.begin() + 1, part.end(), all.begin() + 2 * begin));
    }
}

}  // namespace
}  // namespace hairpin::codec
