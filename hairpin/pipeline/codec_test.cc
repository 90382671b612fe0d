// Tensors through every codec; the plain ones against LibTorch's own conversion.
#include "hairpin/pipeline/codec.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/base/random.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::pipeline {
namespace {

using wire::Codec;

constexpr auto kAll = {Codec::fp32, Codec::bf16, Codec::int8, Codec::int4};

TEST(Codec, Fp32IsExact) {
  const Tensor tensor = at::randn({5, 3});
  const Bytes payload = encode(tensor, Codec::fp32);
  EXPECT_EQ(payload.size(), 60u);
  EXPECT_TRUE(decode(payload, Codec::fp32, 5, 3)->equal(tensor));
}

TEST(Codec, Bf16RoundsToNearestEven) {
  const std::uint32_t bits[] = {0x3f808000, 0x3f818000, 0x3f808001, 0xc0490fdb};
  const std::uint32_t want[] = {0x3f800000, 0x3f820000, 0x3f810000, 0xc0490000};
  Tensor tensor = at::empty({2, 2});
  for (std::size_t i = 0; i < 4; ++i) fp32_span(tensor)[i] = std::bit_cast<float>(bits[i]);
  const Bytes payload = encode(tensor, Codec::bf16);
  EXPECT_EQ(payload.size(), 8u);
  const auto decoded = decode(payload, Codec::bf16, 2, 2);
  ASSERT_TRUE(decoded);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(fp32_span(*decoded)[i]), want[i]);
}

// LibTorch writes a NaN as 7fc0 or ffff, wherever its vectors end; Hairpin as 7fc0.
TEST(Codec, Bf16HasLibTorchsBitsButForNan) {
  Tensor tensor = at::empty({100, 1000});
  Random random(1);
  for (auto& x : fp32_span(tensor)) {
    do {
      x = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    } while (std::isnan(x));
  }
  EXPECT_EQ(encode(tensor, Codec::bf16), to_bytes(tensor, DType::bf16));
}

TEST(Codec, SharesOfRowsAreEncodedAsTheWholeOfThem) {
  const Tensor whole = at::randn({5, 67});
  const std::vector<Tensor> shares = {whole.narrow(0, 0, 2), whole.narrow(0, 2, 0),
                                      whole.narrow(0, 2, 3)};
  for (const auto codec : kAll) EXPECT_EQ(encode(shares, codec), encode(whole, codec));
  EXPECT_THROW(encode(std::vector<Tensor>{whole, whole.narrow(1, 0, 3)}, Codec::fp32),
               BrokenInvariant);
}

TEST(Codec, StridedTensorsAreEncodedRowByRow) {
  const Tensor tensor = at::randn({3, 5}).t();
  for (const auto codec : kAll) {
    EXPECT_EQ(encode(tensor, codec), encode(tensor.contiguous(), codec));
  }
  EXPECT_TRUE(decode(encode(tensor, Codec::fp32), Codec::fp32, 5, 3)->equal(tensor));
}

TEST(Codec, ScaledCodecsStayNear) {
  const Tensor tensor = at::randn({7, 130});
  for (const auto& [codec, tolerance] : {std::pair{Codec::int8, 0.01}, {Codec::int4, 0.15}}) {
    const auto decoded = decode(encode(tensor, codec), codec, 7, 130);
    ASSERT_TRUE(decoded);
    EXPECT_LT((*decoded - tensor).norm().item<double>(), tolerance * tensor.norm().item<double>());
  }
}

TEST(Codec, WhatNoEncoderWritesIsThePeersFault) {
  auto payload = encode(at::randn({2, 64}), Codec::int8);
  payload[67] = std::byte{0xff};  // the second row's scale
  const auto refused = decode(payload, Codec::int8, 2, 64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
  EXPECT_FALSE(decode(payload, Codec::int8, 3, 64));
}

TEST(Codec, OnlyRowsOfFp32AreEncoded) {
  EXPECT_THROW(encode(at::randn({4}), Codec::fp32), BrokenInvariant);
  EXPECT_THROW(encode(at::randn({4, 4}).to(at::kDouble), Codec::fp32), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::pipeline
