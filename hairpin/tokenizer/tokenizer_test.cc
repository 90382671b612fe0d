#include "hairpin/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/tokenizer/tiny_tokenizer.h"
#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

json tiny_json() {
  const TemporaryDirectory directory;
  EXPECT_TRUE(write_tiny_tokenizer(directory.path()));
  return json::parse(*read_text_file(directory / "tokenizer.json"));
}

Tokenizer made_of(const json& file) {
  auto parsed = Tokenizer::parse(file.dump(), "tokenizer.json");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

const Tokenizer& tiny() {
  static const Tokenizer tokenizer = made_of(tiny_json());
  return tokenizer;
}

json added(int id, const char* content, bool special, bool normalized) {
  return {{"id", id}, {"content", content}, {"special", special}, {"normalized", normalized}};
}

// The ids are those of Hugging Face tokenizers 0.23 for the same file.
TEST(Tokenizer, EncodesAsHuggingFaceDoes) {
  EXPECT_EQ(*tiny().encode("The other day, and in the rest\n\n  of 12"),
            (Ids{87,  260, 271, 119, 260, 117, 35, 103, 100, 124, 47, 278, 35,
                 261, 262, 35,  266, 269, 13,  13, 35,  271, 105, 35, 52,  53}));
  EXPECT_EQ(*tiny().encode("<|im_start|>user\nh\u00e9<|im_end|>\n"),
            (Ids{1, 120, 118, 263, 13, 107, 198, 172, 2, 13}));
  EXPECT_EQ(*tiny().encode(""), Ids{});
  EXPECT_EQ(tiny().vocabulary_size(), kTinyVocabularySize);
}

TEST(Tokenizer, SaysWhereTokensBegin) {
  const auto tokens = *tiny().encode_with_offsets("x<|im_end|> the\u00e9");
  std::vector<std::size_t> offsets;
  for (const auto& token : tokens) offsets.push_back(token.offset);
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 1, 11, 15, 16}));
}

TEST(Tokenizer, RefusesInvalidUtf8) {
  const auto ids = tiny().encode("abc\xE2\x82");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(ids.error().message, HasSubstr("byte 3 "));
}

TEST(Tokenizer, DecodesSpecialTokensOrSkipsThem) {
  const Ids ids = {1, 120, 118, 263, 13, 2, 5000};
  EXPECT_EQ(tiny().decode(ids, false), "<|im_start|>user\n<|im_end|>");
  EXPECT_EQ(tiny().decode(ids, true), "user\n");
}

TEST(Tokenizer, DecodesBrokenBytesToReplacementCharacters) {
  EXPECT_EQ(tiny().decode(Ids{198}, false), "\uFFFD");
  EXPECT_EQ(tiny().decode(Ids{198, 172}, false), "\u00e9");
  EXPECT_EQ(tiny().decode(Ids{198, 2, 172}, true), "\u00e9");
}

TEST(Tokenizer, LooksForNormalizedTokensSecond) {
  json file = tiny_json();
  file["added_tokens"].push_back(added(280, "ab", false, true));
  file["added_tokens"].push_back(added(281, "bc", false, false));
  const Tokenizer tokenizer = made_of(file);
  EXPECT_EQ(*tokenizer.encode("abcab"), (Ids{100, 281, 280}));
  EXPECT_EQ(tokenizer.decode(Ids{100, 281, 280}, true), "abcab");
  EXPECT_EQ(tokenizer.find_added("bc"), 281);
  EXPECT_EQ(tokenizer.find_added("b"), std::nullopt);
}

TEST(Tokenizer, SaysWhichSpecialTokenATextHolds) {
  EXPECT_EQ(tiny().first_special_in("no <|im_end"), nullptr);
  ASSERT_NE(tiny().first_special_in("a <|im_end|>"), nullptr);
  EXPECT_EQ(tiny().first_special_in("a <|im_end|>")->id, 2);
  json file = tiny_json();
  file["added_tokens"].push_back(added(280, "<tool>", false, false));
  EXPECT_EQ(made_of(file).first_special_in("<tool>"), nullptr);
}

TEST(Tokenizer, LeavesOutBytesWithoutAToken) {
  json file = tiny_json();
  file["model"]["vocab"].erase("z");
  const Tokenizer tokenizer = made_of(file);
  EXPECT_EQ(*tokenizer.encode("hze"), Ids{260});
}

RC_GTEST_PROP(Tokenizer, DecodesWhatItEncoded, (const std::string& bytes)) {
  const std::string text = with_replacement_characters(bytes);
  const auto tokens = *tiny().encode_with_offsets(text);
  Ids ids;
  std::size_t last = 0;
  for (const auto& token : tokens) {
    RC_ASSERT(token.offset >= last && token.offset < text.size());
    last = token.offset;
    ids.push_back(token.id);
  }
  RC_ASSERT(tiny().decode(ids, false) == text);
}

}  // namespace
}  // namespace hairpin::tokenizer
