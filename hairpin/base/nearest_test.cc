#include "hairpin/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace hairpin {
namespace {

std::optional<std::string> nearest(std::string_view word, std::vector<std::string> candidates) {
  return nearest_word(word, candidates);
}

TEST(Nearest, OneMistakeInAThirdOfTheWordIsForgiven) {
  EXPECT_EQ(nearest("step", {"seed", "steps", "loss"}), "steps");
  EXPECT_EQ(nearest("stpes", {"steps"}), std::nullopt);  // two apart; a third of 5 is 1
  EXPECT_EQ(nearest("stpess", {"stepss"}), "stepss");    // a third of 6 is 2
  EXPECT_EQ(nearest("lerning_rat", {"learning_rate"}), "learning_rate");
  EXPECT_EQ(nearest("kid", {"kind"}), "kind");
  EXPECT_EQ(nearest("xy", {"kind"}), std::nullopt);
}

TEST(Nearest, ShortWordsMayBeOneApart) {
  EXPECT_EQ(nearest("a", {"b"}), "b");
  EXPECT_EQ(nearest("", {"b"}), "b");
  EXPECT_EQ(nearest("", {"bc"}), std::nullopt);
  EXPECT_EQ(nearest("abc", {}), std::nullopt);
}

TEST(Nearest, TheClosestWinsAndOfEqualsTheFirst) {
  EXPECT_EQ(nearest("abcdef", {"abcdxx", "abcdex", "abcdey"}), "abcdex");
  EXPECT_EQ(nearest("abcdef", {"abcdef", "abcde"}), "abcdef");
}

}  // namespace
}  // namespace hairpin
