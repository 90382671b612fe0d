#include "hairpin/tokenizer/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/tokenizer/tiny_tokenizer.h"

namespace hairpin::tokenizer {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

json tiny() {
  static const json file = [] {
    const TemporaryDirectory directory;
    EXPECT_TRUE(write_tiny_tokenizer(directory.path()));
    return json::parse(*read_text_file(directory / "tokenizer.json"));
  }();
  return file;
}

// The tiny file with the value at a JSON pointer replaced.
json tiny_with(const std::string& pointer, json value) {
  json file = tiny();
  file[json::json_pointer(pointer)] = std::move(value);
  return file;
}

Result<TokenizerFile> parse(const json& file) {
  return parse_tokenizer_file(file.dump(), "tokenizer.json");
}

void expect_refused(const std::string& pointer, const json& value, const std::string& where,
                    const std::string& what) {
  const auto parsed = parse(tiny_with(pointer, value));
  ASSERT_FALSE(parsed) << pointer;
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(parsed.error().message,
              AllOf(StartsWith("tokenizer.json: " + where + ": "), HasSubstr(what)));
}

TEST(TokenizerFile, ReadsBothSpellingsOfMerges) {
  const auto pairs = parse(tiny());
  ASSERT_TRUE(pairs) << pairs.error().message;
  json file = tiny();
  for (auto& merge : file["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  const auto texts = parse(file);
  ASSERT_TRUE(texts) << texts.error().message;
  ASSERT_EQ(pairs->merges.size(), 21u);
  for (std::size_t i = 0; i < pairs->merges.size(); ++i) {
    EXPECT_EQ(pairs->merges[i].left, texts->merges[i].left);
    EXPECT_EQ(pairs->merges[i].right, texts->merges[i].right);
    EXPECT_EQ(pairs->merges[i].merged, texts->merges[i].merged);
  }
}

TEST(TokenizerFile, ReadsPreTokenizers) {
  const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", kGpt2Pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(parse(tiny())->cuts, std::vector{Cut::words});
  EXPECT_EQ(parse(tiny_with("/pre_tokenizer", {{"type", "ByteLevel"}}))->cuts,
            (std::vector{Cut::prefix_space, Cut::words}));  // Hugging Face's defaults
  EXPECT_EQ(parse(tiny_with("/pre_tokenizer", byte_level))->cuts, std::vector{Cut::prefix_space});
  const auto sequence = parse(tiny_with(
      "/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {digits, split, byte_level}}}));
  ASSERT_TRUE(sequence) << sequence.error().message;
  EXPECT_EQ(sequence->cuts, (std::vector{Cut::each_digit, Cut::words, Cut::prefix_space}));
}

TEST(TokenizerFile, RefusesOtherKindsByName) {
  expect_refused("/normalizer", {{"type", "NFC"}}, "normalizer", "not supported");
  expect_refused("/truncation", {{"max_length", 5}}, "truncation", "not supported");
  expect_refused("/padding", {{"pad_id", 5}}, "padding", "not supported");
  expect_refused("/version", "2.0", "version", "\"2.0\"");
  expect_refused("/extra", 1, "the whole file", "\"extra\"");
  expect_refused("/model/type", "Unigram", "model.type", "\"Unigram\" is not supported");
  expect_refused("/model/dropout", 0.1, "model.dropout", "0.1");
  expect_refused("/model/fuse_unk", true, "model.fuse_unk", "true");
  expect_refused("/model/byte_fallback", true, "model.byte_fallback", "true");
  expect_refused("/model/continuing_subword_prefix", "##", "model.continuing_subword_prefix", "##");
  expect_refused("/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix", "</w>");
  expect_refused("/model/magic", 1, "model", "\"magic\"");
  expect_refused("/pre_tokenizer/type", "Metaspace", "pre_tokenizer", "\"Metaspace\"");
  expect_refused("/pre_tokenizer/magic", 1, "pre_tokenizer", "\"magic\"");
  expect_refused(
      "/pre_tokenizer",
      {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Digits"}}}}},
      "pre_tokenizer.pretokenizers[0]", "\"ByteLevel\"");
  expect_refused("/pre_tokenizer",
                 {{"type", "Sequence"},
                  {"pretokenizers",
                   {{{"type", "Split"}, {"pattern", {{"Regex", "x"}}}, {"behavior", "Isolated"}},
                    {{"type", "ByteLevel"}}}}},
                 "pre_tokenizer.pretokenizers[0].pattern", "pattern is not supported");
  expect_refused("/decoder/type", "WordPiece", "decoder", "\"WordPiece\"");
  expect_refused("/post_processor", {{"type", "BertProcessing"}}, "post_processor",
                 "\"BertProcessing\"");
  expect_refused("/post_processor",
                 {{"type", "TemplateProcessing"},
                  {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}}},
                 "post_processor.single[0]", "adds tokens");
  expect_refused("/added_tokens/1/lstrip", true, "added_tokens[1].lstrip", "true");
  expect_refused("/added_tokens/1/rstrip", true, "added_tokens[1].rstrip", "true");
  expect_refused("/added_tokens/1/single_word", true, "added_tokens[1].single_word", "true");
}

TEST(TokenizerFile, RefusesDamage) {
  expect_refused("/model/vocab", json::array(), "model.vocab", "not an object");
  expect_refused("/model/vocab", json::object(), "model.vocab", "no tokens");
  expect_refused("/model/vocab/a", -1, "model.vocab.a", "-1");
  expect_refused("/model/vocab/a", 1 << 24, "model.vocab.a", "16777216");
  expect_refused("/model/vocab/\u0101", 3, "model.vocab.\u0101", "another token");

  expect_refused("/model/merges/0", {"a", "b"}, "model.merges[0]", "\"ab\" is not in model.vocab");
  expect_refused("/model/merges/0", "ab", "model.merges[0]", "not two tokens");
  expect_refused("/model/merges/0", {"a"}, "model.merges[0]", "not two tokens");
  expect_refused("/model/unk_token", "<unk>", "model.unk_token", "<unk>");
  expect_refused("/pre_tokenizer", nullptr, "the whole file", "\"pre_tokenizer\" is missing");
  expect_refused("/decoder", nullptr, "the whole file", "\"decoder\" is missing");
  expect_refused("/added_tokens/1/id", 7, "added_tokens[1]", "is 7 where 1 is due");
  expect_refused("/added_tokens/1/content", "", "added_tokens[1]", "0 bytes");
  expect_refused("/added_tokens/1/content", "<|endoftext|>", "added_tokens[1]", "twice");
  EXPECT_FALSE(parse_tokenizer_file("{", "tokenizer.json"));
  EXPECT_FALSE(parse_tokenizer_file("[]", "tokenizer.json"));
}

// As Hugging Face numbers them: after the vocabulary, in the order of the file.
TEST(TokenizerFile, NumbersNewTokensAfterTheVocabulary) {
  const auto token = [](int id, const char* content) {
    return json{{"id", id}, {"content", content}, {"special", false}};
  };
  json file = tiny();
  file["added_tokens"].push_back(token(280, "<one>"));
  file["added_tokens"].push_back(token(281, "<two>"));
  const auto parsed = parse(file);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->added.back().id, 281);
  EXPECT_TRUE(parsed->added.back().normalized);
  file["added_tokens"].back()["id"] = 282;
  EXPECT_FALSE(parse(file));
}

}  // namespace
}  // namespace hairpin::tokenizer
