#include "hairpin/tensor/convert.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "hairpin/base/check.h"

namespace hairpin {
namespace {

using Limits = std::numeric_limits<float>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes;
  for (const T value : values) ByteWriter(bytes).number(value);
  return bytes;
}

std::vector<std::uint32_t> bits_of(const Tensor& tensor) {
  std::vector<std::uint32_t> bits;
  for (const float value : fp32_span(tensor)) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<std::uint16_t> stored16(float value, DType dtype) {
  const Bytes bytes = to_bytes(at::tensor({value}), dtype);
  return {ByteReader(bytes).number<std::uint16_t>()};
}

TEST(Convert, Fp32ComesBackBitForBit) {
  const std::vector<std::uint32_t> bits = {0x00000000, 0x80000000, 0x00000001, 0x807fffff,
                                           0x3f800001, 0x7f7fffff, 0x7f800000, 0xff800000};
  const Bytes bytes = bytes_of(bits);
  Tensor tensor = empty_fp32(std::array<std::int64_t, 2>{2, 4});
  copy_from_bytes(tensor, bytes, DType::f32);
  EXPECT_EQ(bits_of(tensor), bits);
  EXPECT_EQ(to_bytes(tensor, DType::f32), bytes);
}

// Every one of the 65536 values: fp32 holds it exactly, so going there and back changes nothing.
TEST(Convert, SixteenBitTypesComeBackBitForBit) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const auto dtype : {DType::bf16, DType::f16}) {
    Tensor tensor = empty_fp32(std::array<std::int64_t, 1>{65536});
    copy_from_bytes(tensor, bytes_of(all), dtype);
    const Bytes back = to_bytes(tensor, dtype);
    ByteReader reader(back);
    const auto values = fp32_span(tensor);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto stored = reader.number<std::uint16_t>();
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(stored, i) << dtype_name(dtype);
      if (dtype == DType::f16) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), static_cast<std::uint32_t>(i) << 16);
    }
  }
}

TEST(Convert, F16MeansWhatIeee754Says) {
  Tensor tensor = empty_fp32(std::array<std::int64_t, 1>{5});
  copy_from_bytes(tensor, bytes_of<std::uint16_t>({0x0001, 0x0400, 0x3c00, 0x7bff, 0xfc00}),
                  DType::f16);
  const auto values = fp32_span(tensor);
  EXPECT_EQ(values[0], std::ldexp(1.0f, -24));  // the least denormal
  EXPECT_EQ(values[1], std::ldexp(1.0f, -14));
  EXPECT_EQ(values[2], 1.0f);
  EXPECT_EQ(values[3], 65504.0f);
  EXPECT_EQ(values[4], -Limits::infinity());
}

// Between two neighbours: the nearer, and half-way the even one.
TEST(Convert, RoundsToNearestEven) {
  const auto bf16 = [](std::uint32_t bits) {
    return stored16(std::bit_cast<float>(bits), DType::bf16).front();
  };
  EXPECT_EQ(bf16(0x3f807fff), 0x3f80);
  EXPECT_EQ(bf16(0x3f808000), 0x3f80);  // half-way, even below
  EXPECT_EQ(bf16(0x3f808001), 0x3f81);
  EXPECT_EQ(bf16(0x3f818000), 0x3f82);  // half-way, even above
  EXPECT_EQ(bf16(0xbf818000), 0xbf82);
  EXPECT_EQ(bf16(0x7f7fffff), 0x7f80);  // beyond the largest: infinity
  EXPECT_EQ(bf16(0x00018000), 0x0002);  // denormals too
  const auto f16 = [](double value) { return stored16(static_cast<float>(value), DType::f16)[0]; };
  EXPECT_EQ(f16(1.0 + std::ldexp(1.0, -11)), 0x3c00);
  EXPECT_EQ(f16(1.0 + 3 * std::ldexp(1.0, -11)), 0x3c02);
  EXPECT_EQ(f16(std::ldexp(1.5, -24)), 0x0002);
  EXPECT_EQ(f16(std::ldexp(0.5, -24)), 0x0000);
}

TEST(Convert, NaNStaysNaN) {
  for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const float nan : {Limits::quiet_NaN(), std::bit_cast<float>(0x7f800001u)}) {
      Tensor tensor = at::tensor({nan});
      const Bytes bytes = to_bytes(tensor, dtype);
      tensor.zero_();
      copy_from_bytes(tensor, bytes, dtype);
      EXPECT_TRUE(std::isnan(tensor.item<float>())) << dtype_name(dtype);
    }
  }
}

// In a file a tensor's bytes begin wherever its header ends.
TEST(Convert, BytesNeedNoAlignment) {
  const std::vector<std::uint32_t> bits = {0x3f800001, 0x40490fdb, 0xc2c80000,
                                           0x00000007, 0x12345678, 0x3eaaaaab,
                                           0x7f7fffff, 0x80000000, 0x1};
  for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Bytes stored = bytes_of(bits);
    const auto count = static_cast<std::int64_t>(stored.size() / dtype_size(dtype));
    Bytes shifted(1);
    shifted.insert(shifted.end(), stored.begin(), stored.end());
    Tensor straight = empty_fp32(std::array{count}), odd = empty_fp32(std::array{count});
    copy_from_bytes(straight, stored, dtype);
    copy_from_bytes(odd, ByteSpan(shifted).subspan(1), dtype);
    EXPECT_EQ(bits_of(odd), bits_of(straight)) << dtype_name(dtype);
  }
}

TEST(Convert, WhatDoesNotFitIsADefect) {
  Tensor tensor = at::zeros({2, 3});
  EXPECT_THROW(copy_from_bytes(tensor, Bytes(23), DType::f32), BrokenInvariant);
  EXPECT_THROW(copy_from_bytes(tensor, Bytes(24), DType::bf16), BrokenInvariant);
  EXPECT_THROW(copy_from_bytes(tensor, Bytes(24), DType::i32), BrokenInvariant);
  EXPECT_THROW(to_bytes(tensor.t(), DType::f32), BrokenInvariant);
  EXPECT_THROW(to_bytes(tensor.to(at::kDouble), DType::f32), BrokenInvariant);
  EXPECT_TRUE(to_bytes(at::zeros({0, 3}), DType::bf16).empty());
}

}  // namespace
}  // namespace hairpin
