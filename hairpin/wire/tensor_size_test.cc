// Sizes of payloads by hand, and against an element-by-element count; no shape overflows.
#include "hairpin/wire/tensor_size.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace hairpin::wire {
namespace {

constexpr auto kCodecs = {Codec::fp32, Codec::bf16, Codec::int8, Codec::int4};
constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

TEST(RowBytes, ByHand) {
  struct Row {
    std::uint32_t columns;
    std::uint64_t int8, int4;
  };
  for (const auto& row :
       {Row{0, 0, 0}, Row{1, 3, 3}, Row{2, 4, 3}, Row{63, 65, 34}, Row{64, 66, 34}, Row{65, 69, 37},
        Row{128, 132, 68}, Row{576, 594, 306}}) {
    EXPECT_EQ(row_bytes(Codec::int8, row.columns), row.int8) << row.columns;
    EXPECT_EQ(row_bytes(Codec::int4, row.columns), row.int4) << row.columns;
    EXPECT_EQ(row_bytes(Codec::fp32, row.columns), row.columns * 4u);
    EXPECT_EQ(row_bytes(Codec::bf16, row.columns), row.columns * 2u);
  }
}

TEST(PayloadFits, NoShapeOverflows) {
  for (const auto codec : kCodecs) {
    EXPECT_FALSE(payload_fits({kMost, kMost}, codec, 0));
    EXPECT_FALSE(payload_fits({kMost, kMost}, codec, row_bytes(codec, kMost)));
    EXPECT_TRUE(payload_fits({1, kMost}, codec, row_bytes(codec, kMost)));
    EXPECT_TRUE(payload_fits({kMost, 1}, codec, kMost * row_bytes(codec, 1)));
    EXPECT_TRUE(payload_fits({kMost, 0}, codec, 0));
    EXPECT_TRUE(payload_fits({0, kMost}, codec, 0));
    EXPECT_FALSE(payload_fits({kMost, 0}, codec, 1));
    EXPECT_FALSE(payload_fits({0, kMost}, codec, 1));
  }
  // 2^31 rows of 2^31 fp32 elements are 2^64 bytes, which is 0 in 64 bits.
  EXPECT_FALSE(payload_fits({1u << 31, 1u << 31}, Codec::fp32, 0));
}

RC_GTEST_PROP(PayloadFits, ExactlyOneSize, ()) {
  const auto codec = *rc::gen::elementOf(std::vector<Codec>(kCodecs));
  const auto rows = *rc::gen::inRange<std::uint32_t>(1, 5);
  const auto columns = *rc::gen::inRange<std::uint32_t>(1, 400);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < columns; ++i) {
    if (codec == Codec::fp32) bytes += 4;
    if (codec == Codec::bf16) bytes += 2;
    if (codec < Codec::int8) continue;
    if (i % 64 == 0) bytes += 2;
    if (codec == Codec::int8 || i % 64 % 2 == 0) bytes += 1;
  }
  const auto size = *rc::gen::inRange<std::uint64_t>(0, 3 * rows * bytes);
  RC_ASSERT(payload_fits({rows, columns}, codec, rows * bytes));
  RC_ASSERT(payload_fits({rows, columns}, codec, size) == (size == rows * bytes));
}

}  // namespace
}  // namespace hairpin::wire
