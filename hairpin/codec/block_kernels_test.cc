// Every width of vectors against the plain twin, bit for bit, over any floats and any bytes.
#include "hairpin/codec/block_kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "hairpin/base/bytes.h"
#include "hairpin/codec/block_row.h"
#include "hairpin/codec/test_values.h"

namespace hairpin::codec {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kBlocks = 7;

struct Case {
  std::string name;
  Floats values;  // kBlocks blocks
};

Case with(std::string name, float special, float rest = 1.0f) {
  Case made{std::move(name), random_floats(kBlocks * kBlock, 5, rest)};
  for (std::size_t b = 0; b < kBlocks; ++b) made.values[b * kBlock + 9 * b] = special;
  return made;
}

std::vector<Case> cases() {
  const std::size_t count = kBlocks * kBlock;
  std::vector<Case> all{
      with("an outlier", -1e4f),
      with("a huge outlier", 1e30f),
      with("the largest number", kLargest),
      with("a NaN", kNan),
      with("infinity", kInfinity),
      with("minus infinity", -kInfinity),
      with("a signalling NaN", std::bit_cast<float>(0x7f800001u)),
      with("a NaN with every bit", std::bit_cast<float>(0xffffffffu)),
      with("denormals", 0.0f, 1e-39f),
      with("around the smallest scale", 0x1p-120f, 1e-37f),
      {"zeros", Floats(count, 0.0f)},
      {"negative zeros", Floats(count, -0.0f)},
      {"all the largest", Floats(count, kLargest)},
      {"all the smallest", Floats(count, -kSmallest)},
      {"two infinities", Floats(count, kInfinity)},
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const float scale = std::ldexp(1.0f, static_cast<int>(12 * seed) - 120);
    all.push_back({"uniform, " + std::to_string(scale), random_floats(count, seed, scale)});
    all.push_back({"any bits, seed " + std::to_string(seed), random_bits(count, seed)});
  }
  // Sums that end half way between two steps, where rounding shows.
  Case ties{"ties", Floats(count)};
  Random random(3);
  for (auto& x : ties.values) x = static_cast<float>(random.below(17)) - 8.0f;
  for (std::size_t b = 0; b < kBlocks; ++b) ties.values[b * kBlock] = 127.0f * 32;
  all.push_back(std::move(ties));
  return all;
}

class Twins : public testing::TestWithParam<const BlockKernels*> {};

// One byte before the block's start and after its end show what is written beside it.
void expect_equal_bytes(BlockKernels::Encode encode, BlockKernels::Encode twin, const Case& of,
                        std::size_t block_bytes) {
  Bytes got(kBlocks * block_bytes + 2, std::byte{0xa5});
  Bytes want = got;
  encode(of.values.data(), got.data() + 1, kBlocks);
  twin(of.values.data(), want.data() + 1, kBlocks);
  EXPECT_EQ(got, want) << of.name;
  EXPECT_EQ(got.front(), std::byte{0xa5});
  EXPECT_EQ(got.back(), std::byte{0xa5});
}

TEST_P(Twins, EncodeEqualBytes) {
  for (const auto& a_case : cases()) {
    expect_equal_bytes(GetParam()->encode_int8, kScalarKernels.encode_int8, a_case, 66);
    expect_equal_bytes(GetParam()->encode_int4, kScalarKernels.encode_int4, a_case, 34);
  }
}

void expect_equal_floats(BlockKernels::Decode decode, BlockKernels::Decode twin, const Bytes& in) {
  Floats got(kBlocks * kBlock + 2, 42.0f);
  Floats want = got;
  decode(in.data(), got.data() + 1, kBlocks);
  twin(in.data(), want.data() + 1, kBlocks);
  EXPECT_EQ(bits_of(got), bits_of(want));
  EXPECT_EQ(got.front(), 42.0f);
  EXPECT_EQ(got.back(), 42.0f);
}

TEST_P(Twins, DecodeAnyBytesEqually) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    Bytes in(kBlocks * 66);
    for (auto& byte : in) byte = static_cast<std::byte>(random.next());
    for (std::size_t b = 0; b < kBlocks && round % 2 == 0; ++b) {  // scales of ordinary size
      in[b * 66 + 1] = std::byte{0x3f};
      in[b * 34 + 1] = std::byte{0x3f};
    }
    expect_equal_floats(GetParam()->decode_int8, kScalarKernels.decode_int8, in);
    expect_equal_floats(GetParam()->decode_int4, kScalarKernels.decode_int4, in);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, Twins, testing::ValuesIn(runnable_kernels()),
                         [](const auto& width) { return std::string(width.param->name); });

}  // namespace
}  // namespace hairpin::codec
