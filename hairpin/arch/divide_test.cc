#include "hairpin/arch/divide.h"

#include <gtest/gtest.h>

namespace hairpin::arch {
namespace {

Architecture sizes(std::int64_t heads, std::int64_t kv_heads, std::int64_t inner,
                   std::int64_t vocab) {
  Architecture a;
  a.num_attention_heads = heads;
  a.num_key_value_heads = kv_heads;
  a.intermediate_size = inner;
  a.vocab_size = vocab;
  return a;
}

std::vector<int> fitting(const Architecture& a, int most) {
  std::vector<int> fit;
  for (int ranks = 1; ranks <= most; ++ranks)
    if (check_tensor_parallel(a, ranks, "k")) fit.push_back(ranks);
  return fit;
}

TEST(Divide, HeadsKeyValueHeadsInnerSizeAndVocabularyDecide) {
  EXPECT_EQ(fitting(sizes(9, 3, 1536, 49152), 12), (std::vector{1, 3}));
  EXPECT_EQ(fitting(sizes(9, 3, 1539, 49152), 12), (std::vector{1, 3, 9}));
  EXPECT_EQ(fitting(sizes(8, 2, 176, 331), 12), (std::vector{1, 2, 4, 8}));
  EXPECT_EQ(fitting(sizes(8, 2, 172, 331), 12), (std::vector{1, 2, 4}));
  EXPECT_EQ(fitting(sizes(12, 4, 48, 331), 12), (std::vector{1, 2, 4, 12}));
  EXPECT_EQ(fitting(sizes(4, 4, 8, 3), 12), (std::vector{1, 2}));
}

TEST(Divide, TheErrorNamesSizesAndTheNearestThatFit) {
  const auto error = [](const Architecture& a, int ranks) {
    return check_tensor_parallel(a, ranks, "edge.tensor_parallel").error();
  };
  const auto five = error(sizes(9, 3, 1539, 49152), 5);
  EXPECT_EQ(five.kind, ErrorKind::bad_input);
  EXPECT_EQ(
      five.message,
      "edge.tensor_parallel = 5: the model has 9 attention heads and 3 key/value heads and an "
      "intermediate size of 1539, which 5 ranks can't share out; give 3 or 9");
  EXPECT_EQ(error(sizes(8, 2, 172, 331), 8).message,
            "edge.tensor_parallel = 8: the model has an intermediate size of 172, which 8 ranks "
            "can't share out; give 4");
}

}  // namespace
}  // namespace hairpin::arch
