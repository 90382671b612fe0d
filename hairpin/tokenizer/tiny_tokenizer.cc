#include "hairpin/tokenizer/tiny_tokenizer.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "hairpin/base/bytes.h"
#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/tokenizer/byte_symbols.h"
#include "hairpin/tokenizer/chat_template.h"

namespace hairpin::tokenizer {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kSpecial = {"<|endoftext|>", kTurnStart, kTurnEnd};

// In order of rank; both halves are bytes or earlier results.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kMerges = {{
    {" ", "t"},  {"h", "e"}, {"i", "n"}, {" t", "he"}, {"e", "r"},  {"o", "n"},   {" ", "a"},
    {"r", "e"},  {"a", "n"}, {"e", "s"}, {"s", "t"},   {"o", "r"},  {" ", "o"},   {"o", "u"},
    {"in", "g"}, {"a", "t"}, {"e", "n"}, {"i", "s"},   {" a", "n"}, {" an", "d"}, {" ", "s"},
}};

json added_token(std::int64_t id, std::string_view content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

json byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", true}};
}

json model() {
  json vocabulary = json::object(), merges = json::array();
  const auto add = [&](const std::string& token) {
    const auto id = static_cast<std::int64_t>(vocabulary.size());
    vocabulary[token] = id;
  };
  for (const auto token : kSpecial) add(std::string(token));
  for (int byte = 0; byte < 256; ++byte)
    add(symbols_of_bytes(std::string(1, static_cast<char>(byte))));
  for (const auto& [left, right] : kMerges) {
    merges.push_back({symbols_of_bytes(left), symbols_of_bytes(right)});
    add(symbols_of_bytes(std::string(left) + std::string(right)));
  }
  HAIRPIN_CHECK(vocabulary.size() == kTinyVocabularySize, "{} tokens", vocabulary.size());
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", ""},
          {"end_of_word_suffix", ""},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

json tokenizer_json() {
  json added = json::array();
  for (const auto token : kSpecial)
    added.push_back(added_token(static_cast<std::int64_t>(added.size()), token));
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", std::move(added)},
          {"normalizer", nullptr},     {"pre_tokenizer", byte_level()},
          {"post_processor", nullptr}, {"decoder", byte_level()},
          {"model", model()}};
}

json tokenizer_config() {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"bos_token", kTurnStart},
          {"eos_token", kTurnEnd},
          {"pad_token", kTurnEnd},
          {"unk_token", kSpecial[0]},
          {"clean_up_tokenization_spaces", false},
          {"model_max_length", 32768}};
}

}  // namespace

Result<void> write_tiny_tokenizer(const std::filesystem::path& directory) {
  const auto write = [&](const char* name, std::string_view text) {
    return write_file_atomic(directory / name, as_byte_span(text));
  };
  HAIRPIN_CHECK_OK(write("tokenizer.json", tokenizer_json().dump(1) + "\n"));
  HAIRPIN_CHECK_OK(write("tokenizer_config.json", tokenizer_config().dump(1) + "\n"));
  return write("chat_template.jinja", kChatmlJinja);
}

}  // namespace hairpin::tokenizer
