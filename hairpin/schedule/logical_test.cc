#include "hairpin/schedule/logical.h"

#include <gtest/gtest.h>

#include "hairpin/schedule/hairpin.h"

namespace hairpin::schedule {
namespace {

TEST(Logical, EachStageIsOrderedAs1F1B) {
  const Schedule logical = logical_stages(2, 4);
  const auto f = [](int stage, int i) { return Op{OpKind::forward, stage, i - 1}; };
  const auto b = [](int stage, int i) { return Op{OpKind::backward, stage, i - 1}; };
  ASSERT_EQ(logical.num_ranks(), 3);
  EXPECT_EQ(logical.ranks[0],
            (std::vector{f(0, 1), f(0, 2), f(0, 3), b(0, 1), f(0, 4), b(0, 2), b(0, 3), b(0, 4)}));
  EXPECT_EQ(logical.ranks[2],
            (std::vector{f(2, 1), b(2, 1), f(2, 2), b(2, 2), f(2, 3), b(2, 3), f(2, 4), b(2, 4)}));
}

// The rule and the closed form are independent: one simulates, the other counts.
TEST(Logical, MergedStagesAreTheClosedForm) {
  for (int pp = 2; pp <= 8; ++pp)
    for (int m = 1; m <= 64; ++m)
      EXPECT_EQ(merge_logical(logical_stages(pp, m)), hairpin_1f1b(pp, m, {}))
          << "pp " << pp << " m " << m;
}

// K as the documents write it: floor((PP-1) * 2/3 - 1/2 + 2), here in sixths.
TEST(Logical, LeadingPairsAsTheDocumentsWriteThem) {
  for (int pp = 2; pp <= 64; ++pp)
    EXPECT_EQ(leading_pairs(pp), ((pp - 1) * 4 - 3 + 12) / 6) << "pp " << pp;
}

}  // namespace
}  // namespace hairpin::schedule
