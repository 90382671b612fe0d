#include "hairpin/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

using Strings = std::vector<std::string>;

Strings pieces(std::vector<Cut> cuts, const std::string& text) {
  Strings out;
  PreTokenizer(std::move(cuts)).cut(text, [&](const auto& piece) { out.emplace_back(piece.text); });
  return out;
}

TEST(PreTokenizer, CutsWordsAsGpt2Does) {
  EXPECT_EQ(pieces({Cut::words}, "I'll pay 120$, OK?"),
            (Strings{"I", "'ll", " pay", " 120", "$,", " OK", "?"}));
  EXPECT_EQ(pieces({Cut::words}, "a  b \n\n c"), (Strings{"a", " ", " b", " \n\n", " c"}));
  EXPECT_EQ(pieces({Cut::words}, "end  "), (Strings{"end", "  "}));
  EXPECT_EQ(pieces({Cut::words}, "l\u00e9\u4e2d\u00b2x"),
            (Strings{"l\u00e9\u4e2d", "\u00b2", "x"}));
  EXPECT_EQ(pieces({Cut::words}, ""), Strings{});
}

// U+180E is white space for PCRE2's \s, but not for Unicode, nor for Hugging Face.
TEST(PreTokenizer, TakesWhiteSpaceFromUnicode) {
  EXPECT_EQ(pieces({Cut::words}, "!\u180e!"), Strings{"!\u180e!"});
  EXPECT_EQ(pieces({Cut::words}, "a\u2003\u0085b"), (Strings{"a", "\u2003", "\u0085", "b"}));
  EXPECT_EQ(pieces({Cut::words}, "a\x1c!"), (Strings{"a", "\x1c!"}));
}

TEST(PreTokenizer, CutsDigits) {
  EXPECT_EQ(pieces({Cut::each_digit, Cut::words}, "in 12\u00bd"),
            (Strings{"in", " ", "1", "2", "\u00bd"}));
  EXPECT_EQ(pieces({Cut::runs_of_digits, Cut::words}, "in 12\u00bd!"),
            (Strings{"in", " ", "12\u00bd", "!"}));
}

TEST(PreTokenizer, PutsASpaceFirst) {
  const PreTokenizer cutter({Cut::prefix_space, Cut::words});
  std::vector<std::size_t> offsets, missing;
  Strings texts;
  cutter.cut("hi you", [&](const PreTokenizer::Piece& piece) {
    texts.emplace_back(piece.text);
    offsets.push_back(piece.offset);
    missing.push_back(piece.missing);
  });
  EXPECT_EQ(texts, (Strings{" hi", " you"}));
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(missing, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(pieces({Cut::prefix_space, Cut::words}, " hi"), Strings{" hi"});
}

RC_GTEST_PROP(PreTokenizer, LosesNothing, (const std::string& bytes)) {
  const std::string text = with_replacement_characters(bytes);
  std::string joined;
  PreTokenizer({Cut::each_digit, Cut::words}).cut(text, [&](const PreTokenizer::Piece& piece) {
    RC_ASSERT(piece.offset == joined.size());
    RC_ASSERT(!piece.text.empty());
    joined += piece.text;
  });
  RC_ASSERT(joined == text);
}

}  // namespace
}  // namespace hairpin::tokenizer
