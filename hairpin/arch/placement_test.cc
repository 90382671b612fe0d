#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "hairpin/arch/architecture.h"
#include "hairpin/arch/cut.h"

namespace hairpin::arch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Layers = std::vector<std::int64_t>;

template <class T>
std::string refusal(const Result<T>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().message;
}

TEST(Place, GivesTheEmbeddingToTheFirstAndTheHeadToTheLast) {
  const auto ranges = place({2, 10, 0, 3}, 15).value();
  ASSERT_EQ(ranges.size(), 4u);
  const std::vector<std::pair<int, int>> want = {{0, 3}, {3, 13}, {13, 13}, {13, 17}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(ranges[i].begin, want[i].first);
    EXPECT_EQ(ranges[i].end, want[i].second);
  }
}

RC_GTEST_PROP(Place, RangesTileTheModel, ()) {
  auto layers =
      *rc::gen::nonEmpty(rc::gen::container<Layers>(rc::gen::inRange<std::int64_t>(0, 9)));
  layers[0] += 1;
  const auto depth = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  const auto ranges = place(layers, depth).value();
  RC_ASSERT(ranges.size() == layers.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    RC_ASSERT(ranges[i].begin == next);
    next = ranges[i].end;
    RC_ASSERT(ranges[i].end - ranges[i].begin == layers[i] + (i == 0) + (i + 1 == ranges.size()));
  }
  RC_ASSERT(next == depth + 2);
}

TEST(Place, NamesListSumAndDepth) {
  EXPECT_THAT(refusal(place({2, 10, 10, 2}, 30)),
              AllOf(HasSubstr("layers = [2, 10, 10, 2]"), HasSubstr("sum is 24"),
                    HasSubstr("30 decoder layers")));
  EXPECT_THAT(refusal(place({2, -1, 29}, 30)),
              AllOf(HasSubstr("[2, -1, 29]"), HasSubstr("-1 is negative")));
  EXPECT_THAT(refusal(place({}, 30)), AllOf(HasSubstr("[]"), HasSubstr("30")));
  EXPECT_THAT(refusal(place({INT64_MAX, INT64_MAX, 32}, 30)), HasSubstr("beyond 64 bits"));
}

TEST(Cuts, RefusesPlaintextWithItsReasonAndOverride) {
  EXPECT_THAT(refusal(check_cuts({0, 28, 2}, false)),
              AllOf(HasSubstr("layers = [0, 28, 2]"), HasSubstr("rows of a public embedding table"),
                    HasSubstr("allow_plaintext_cut = true"), Not(HasSubstr("one layer"))));
  EXPECT_THAT(
      refusal(check_cuts({2, 28, 0}, false)),
      AllOf(HasSubstr("labels follow from the gradient"), HasSubstr("allow_plaintext_cut")));
  EXPECT_EQ(refusal(check_cuts({0, 30, 0}, true)), "accepted");
  EXPECT_EQ(refusal(check_cuts({1, 0, 29}, false)), "accepted");
}

TEST(Cuts, NeedHeadCloudAndTail) {
  EXPECT_THAT(refusal(check_cuts({2, 28}, false)), HasSubstr("at least three entries"));
  EXPECT_THAT(refusal(check_cuts({30}, true)), HasSubstr("at least three entries"));
}

}  // namespace
}  // namespace hairpin::arch
