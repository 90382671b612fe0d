#include "hairpin/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace hairpin::tokenizer {
namespace {

TEST(TokenMatcher, FindsTheLongestAtTheLeftmostPlace) {
  const AddedToken shorter{.id = 1, .content = "<a>"}, longer{.id = 2, .content = "<a><b>"},
      inner{.id = 3, .content = "a"};
  const TokenMatcher matcher({&shorter, &longer, &inner});
  const auto first = matcher.find("x<<a><b><a>", 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->token, &longer);
  EXPECT_EQ(first->begin, 2u);
  EXPECT_EQ(first->end, 8u);
  const auto second = matcher.find("x<<a><b><a>", first->end);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->token, &shorter);
  EXPECT_FALSE(matcher.find("<b>", 0));
}

TEST(TokenMatcher, FindsNothingWithoutTokens) { EXPECT_FALSE(TokenMatcher({}).find("abc", 0)); }

}  // namespace
}  // namespace hairpin::tokenizer
