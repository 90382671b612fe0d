#include "hairpin/collective/reduce_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace hairpin::collective {
namespace {

template <class T>
class ReduceTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ReduceTest, Types);

template <class T>
std::vector<std::vector<T>> inputs(std::size_t ranks, std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::vector<T>> all(ranks, std::vector<T>(count));
  for (auto& one : all)
    for (auto& x : one)
      x = static_cast<T>(
          std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 20)));
  return all;
}

template <class T>
std::vector<const void*> pointers(const std::vector<std::vector<T>>& all) {
  std::vector<const void*> starts;
  for (const auto& one : all) starts.push_back(one.data());
  return starts;
}

// Element by element, in order, whatever the length; also into any one of the sources.
TYPED_TEST(ReduceTest, MatchesOneElementAtATime) {
  using T = TypeParam;
  for (const std::size_t ranks : {1, 2, 3, 5})
    for (const std::size_t count : {0, 1, 3, 16, 1023, 1024, 1025, 3000})
      for (const auto reduction : {Reduction::sum, Reduction::max}) {
        auto all = inputs<T>(ranks, count);
        std::vector<T> want(count), got(count);
        for (std::size_t i = 0; i < count; ++i) {
          want[i] = all[0][i];
          for (std::size_t r = 1; r < ranks; ++r)
            want[i] =
                reduction == Reduction::sum ? want[i] + all[r][i] : std::max(want[i], all[r][i]);
        }
        const auto n = static_cast<std::int64_t>(count);
        const auto starts = pointers(all);
        reduce_in_order(got.data(), starts, n, reduction);
        EXPECT_EQ(got, want) << ranks << " ranks, " << count;
        for (std::size_t r = 0; r < ranks; ++r) {
          auto again = inputs<T>(ranks, count);
          reduce_in_order(again[r].data(), pointers(again), n, reduction);
          EXPECT_EQ(again[r], want) << "into rank " << r;
        }
      }
}

TYPED_TEST(ReduceTest, NanWinsWhereverItComesFrom) {
  using T = TypeParam;
  constexpr std::size_t kCount = 37;
  for (const auto reduction : {Reduction::sum, Reduction::max})
    for (std::size_t from = 0; from < 3; ++from)
      for (std::size_t at = 0; at < kCount; ++at) {
        auto all = inputs<T>(3, kCount);
        all[from][at] = std::numeric_limits<T>::quiet_NaN();
        std::vector<T> got(kCount);
        reduce_in_order(got.data(), pointers(all), kCount, reduction);
        for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(std::isnan(got[i]), i == at);
      }
}

}  // namespace
}  // namespace hairpin::collective
