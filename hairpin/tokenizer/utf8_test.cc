#include "hairpin/tokenizer/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace hairpin::tokenizer {
namespace {

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(first_invalid_utf8("a\xC3\xA9\xE3\x81\x82\xF0\x9F\x98\x80"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("ab\x80"), 2u);
  EXPECT_EQ(first_invalid_utf8("ab\xC3"), 2u);
  EXPECT_EQ(first_invalid_utf8("\xC0\xAF"), 0u);                    // overlong
  EXPECT_EQ(first_invalid_utf8("\xE0\x9F\xBF"), 0u);                // overlong
  EXPECT_EQ(first_invalid_utf8("\xED\x9F\xBF"), std::nullopt);      // U+D7FF
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u);                // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u);            // overlong
  EXPECT_EQ(first_invalid_utf8("\xF4\x8F\xBF\xBF"), std::nullopt);  // U+10FFFF
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u);
  EXPECT_EQ(first_invalid_utf8("\xF5\x80\x80\x80"), 0u);
}

// The tables 3-8 to 3-11 of the Unicode standard (15.0), section 3.9.
TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(with_replacement_characters("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(with_replacement_characters("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(with_replacement_characters("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(with_replacement_characters("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            r + r + r + r + "A");
}

RC_GTEST_PROP(Utf8, ReadsBackWhatItWrites, ()) {
  std::string text;
  std::u32string points;
  for (const auto drawn : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 0x110000))) {
    const auto point = static_cast<char32_t>(drawn);
    if (point >= 0xD800 && point < 0xE000) continue;
    points += point;
    append_utf8(text, point);
  }
  std::u32string read;
  for (std::size_t at = 0; at < text.size();) {
    const auto unit = utf8_unit_at(text, at);
    RC_ASSERT(unit.code_point.has_value());
    read += *unit.code_point;
    at += unit.length;
  }
  RC_ASSERT(read == points);
  RC_ASSERT(with_replacement_characters(text) == text);
}

RC_GTEST_PROP(Utf8, MakesAnyBytesValid, (const std::string& bytes)) {
  RC_ASSERT(first_invalid_utf8(with_replacement_characters(bytes)) == std::nullopt);
}

}  // namespace
}  // namespace hairpin::tokenizer
