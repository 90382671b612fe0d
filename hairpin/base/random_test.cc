#include "hairpin/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace hairpin {
namespace {

// The first outputs of the authors' splitmix64.c for the seed 1234567.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  for (const std::uint64_t value :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u})
    EXPECT_EQ(random.next(), value);
}

TEST(Random, BelowStaysBelowAndReachesEverything) {
  Random random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

// 3/4 of 2^64: taking the remainder would make the lower third come twice as often.
TEST(Random, BelowHasNoModuloBias) {
  constexpr std::uint64_t bound = std::uint64_t{3} << 62;
  Random random(4);
  int low = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto value = random.below(bound);
    ASSERT_LT(value, bound);
    low += value < bound / 3;
  }
  EXPECT_NEAR(low, 1000, 150);
}

TEST(Random, UnitLiesInTheHalfOpenInterval) {
  Random random(5);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Random, ShuffleIsAPermutationDrawnFromTheSeed) {
  const auto shuffled = [](std::uint64_t seed) {
    std::vector<int> items(100);
    std::iota(items.begin(), items.end(), 0);
    Random(seed).shuffle(std::span(items));
    return items;
  };
  auto items = shuffled(1);
  EXPECT_EQ(items, shuffled(1));
  EXPECT_NE(items, shuffled(2));
  EXPECT_FALSE(std::ranges::is_sorted(items));
  std::ranges::sort(items);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

TEST(Random, EveryOrderOfThreeIsAsLikely) {
  Random random(6);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> items{0, 1, 2};
    random.shuffle(std::span(items));
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

// Golden: a changed derivation would change every run's order of samples.
TEST(Random, StreamsAreApartAndStayWhatTheyAre) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (const auto* purpose : {"", "a", "epoch-order"})
      for (std::uint64_t index = 0; index < 3; ++index)
        seeds.insert(derive_seed(seed, purpose, index));
  EXPECT_EQ(seeds.size(), 27u);
  EXPECT_EQ(derive_seed(1, "epoch-order", 2), 5012513972161338007u);
}

}  // namespace
}  // namespace hairpin
