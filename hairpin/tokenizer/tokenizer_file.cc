#include "hairpin/tokenizer/tokenizer_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "hairpin/json/parse.h"
#include "hairpin/tokenizer/json_place.h"

namespace hairpin::tokenizer {
namespace {

constexpr std::size_t kMaxAddedTokens = 1 << 16;
constexpr std::size_t kMaxAddedTokenBytes = 512;

// --- model ---------------------------------------------------------------------------------------

Result<void> read_vocabulary(const JsonPlace& place, TokenizerFile& out) {
  if (!place.json().is_object()) return place.refuse("not an object; use an intact file");
  std::unordered_set<std::int32_t> used;
  for (const auto& [token, value] : place.json().items()) {
    HAIRPIN_TRY(const auto entry, place.at(token));
    HAIRPIN_TRY(const auto id, entry.token_id());
    if (!used.insert(id).second)
      return entry.refuse("the id {} belongs to another token too; use an intact file", id);
    out.vocabulary.emplace(token, id);
  }
  if (used.empty()) return place.refuse("no tokens; use an intact file");
  return {};
}

// Both spellings: "a b" and ["a", "b"].
Result<std::pair<std::string, std::string>> read_pair(const JsonPlace& place) {
  if (place.json().is_string()) {
    HAIRPIN_TRY(const auto text, place.text());
    const auto space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      return std::pair{text.substr(0, space), text.substr(space + 1)};
  } else if (place.json().is_array() && place.json().size() == 2) {
    HAIRPIN_TRY(const auto items, place.items());
    HAIRPIN_TRY(auto left, items[0].text());
    HAIRPIN_TRY(auto right, items[1].text());
    return std::pair{std::move(left), std::move(right)};
  }
  return place.refuse("not two tokens; use an intact file");
}

Result<void> read_merges(const JsonPlace& place, TokenizerFile& out) {
  HAIRPIN_TRY(const auto items, place.items());
  out.merges.reserve(items.size());
  for (const auto& item : items) {
    HAIRPIN_TRY(const auto pair, read_pair(item));
    const auto id_of = [&](const std::string& token) -> Result<std::int32_t> {
      const auto found = out.vocabulary.find(token);
      if (found == out.vocabulary.end())
        return item.refuse("\"{}\" is not in model.vocab; use an intact file", shortened(token));
      return found->second;
    };
    HAIRPIN_TRY(const auto left, id_of(pair.first));
    HAIRPIN_TRY(const auto right, id_of(pair.second));
    HAIRPIN_TRY(const auto merged, id_of(pair.first + pair.second));
    out.merges.push_back({left, right, merged});
  }
  return {};
}

Result<void> read_model(const JsonPlace& model, TokenizerFile& out) {
  HAIRPIN_CHECK_OK(model.must_be("type", "BPE"));
  HAIRPIN_CHECK_OK(
      model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  HAIRPIN_CHECK_OK(model.must_be("dropout", nullptr));
  HAIRPIN_CHECK_OK(model.must_be("continuing_subword_prefix", ""));
  HAIRPIN_CHECK_OK(model.must_be("end_of_word_suffix", ""));
  HAIRPIN_CHECK_OK(model.must_be("fuse_unk", false));
  HAIRPIN_CHECK_OK(model.must_be("byte_fallback", false));
  HAIRPIN_TRY(out.ignore_merges, model.flag("ignore_merges", false));
  HAIRPIN_TRY(const auto vocabulary, model.at("vocab"));
  HAIRPIN_CHECK_OK(read_vocabulary(vocabulary, out));
  if (const auto unknown = model.find("unk_token")) {
    HAIRPIN_TRY(const auto token, unknown->text());
    const auto found = out.vocabulary.find(token);
    if (found == out.vocabulary.end())
      return unknown->refuse("\"{}\" is not in model.vocab; use an intact file", shortened(token));
    out.unknown = found->second;
  }
  HAIRPIN_TRY(const auto merges, model.at("merges"));
  return read_merges(merges, out);
}

// --- pre-tokenizer -------------------------------------------------------------------------------

Result<void> read_byte_level(const JsonPlace& step, TokenizerFile& out) {
  HAIRPIN_CHECK_OK(step.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  HAIRPIN_TRY(const bool prefix_space, step.flag("add_prefix_space", true));
  HAIRPIN_TRY(const bool words, step.flag("use_regex", true));
  if (prefix_space) out.cuts.push_back(Cut::prefix_space);
  if (words) out.cuts.push_back(Cut::words);
  return {};
}

Result<void> read_split(const JsonPlace& step, TokenizerFile& out) {
  HAIRPIN_CHECK_OK(step.only({"type", "pattern", "behavior", "invert"}));
  HAIRPIN_CHECK_OK(step.must_be("behavior", "Isolated"));
  HAIRPIN_CHECK_OK(step.must_be("invert", false));
  HAIRPIN_TRY(const auto pattern, step.at("pattern"));
  HAIRPIN_CHECK_OK(pattern.only({"Regex"}));
  HAIRPIN_TRY(const auto regex, pattern.text_at("Regex"));
  if (regex != kGpt2Pattern)
    return pattern.refuse("this pattern is not supported, only GPT-2's; use a model with that");
  out.cuts.push_back(Cut::words);
  return {};
}

Result<void> read_digits(const JsonPlace& step, TokenizerFile& out) {
  HAIRPIN_CHECK_OK(step.only({"type", "individual_digits"}));
  HAIRPIN_TRY(const bool each, step.flag("individual_digits", false));
  out.cuts.push_back(each ? Cut::each_digit : Cut::runs_of_digits);
  return {};
}

// ByteLevel must come last: what it hands on is bytes, not text.
Result<void> read_pre_tokenizer(const JsonPlace& place, TokenizerFile& out) {
  std::vector<JsonPlace> steps{place};
  HAIRPIN_TRY(const auto kind, place.text_at("type"));
  if (kind == "Sequence") {
    HAIRPIN_CHECK_OK(place.only({"type", "pretokenizers"}));
    HAIRPIN_TRY(const auto list, place.at("pretokenizers"));
    HAIRPIN_TRY(steps, list.items());
    if (steps.empty() || steps.size() > 8)
      return list.refuse("{} steps, supported are 1 to 8; use another model", steps.size());
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    HAIRPIN_TRY(const auto type, steps[i].text_at("type"));
    const bool last = i + 1 == steps.size();
    if (last != (type == "ByteLevel") || (!last && type != "Digits" && type != "Split"))
      return steps[i].refuse(
          "\"{}\" is not supported here, only ByteLevel, or a Sequence of Digits and Split that "
          "ends in ByteLevel; use a model with that",
          shortened(type));
    HAIRPIN_CHECK_OK(type == "ByteLevel" ? read_byte_level(steps[i], out)
                     : type == "Digits"  ? read_digits(steps[i], out)
                                         : read_split(steps[i], out));
  }
  return {};
}

// --- post-processor and decoder ------------------------------------------------------------------

Result<void> check_post_processor(const JsonPlace& place) {
  HAIRPIN_TRY(const auto type, place.text_at("type"));
  if (type == "ByteLevel") return {};  // moves offsets only
  if (type != "TemplateProcessing")
    return place.refuse("\"{}\" is not supported; use a model without it", shortened(type));
  HAIRPIN_TRY(const auto single, place.at("single"));
  HAIRPIN_TRY(const auto parts, single.items());
  for (const auto& part : parts)
    if (!part.find("Sequence"))
      return part.refuse("a template that adds tokens is not supported; use a model without it");
  if (parts.size() != 1) return single.refuse("not just the text itself; use another model");
  return {};
}

Result<void> check_decoder(const JsonPlace& place) {
  HAIRPIN_TRY(const auto type, place.text_at("type"));
  if (type != "ByteLevel")
    return place.refuse("\"{}\" is not supported, only ByteLevel; use a model with that",
                        shortened(type));
  return {};
}

// --- added tokens --------------------------------------------------------------------------------

Result<AddedToken> read_added_token(const JsonPlace& place) {
  HAIRPIN_CHECK_OK(
      place.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    HAIRPIN_CHECK_OK(place.must_be(key, false));
  AddedToken token;
  HAIRPIN_TRY(const auto id, place.at("id"));
  HAIRPIN_TRY(token.id, id.token_id());
  HAIRPIN_TRY(token.content, place.text_at("content"));
  HAIRPIN_TRY(token.special, place.flag("special", false));
  HAIRPIN_TRY(token.normalized, place.flag("normalized", !token.special));
  if (token.content.empty() || token.content.size() > kMaxAddedTokenBytes)
    return place.refuse("content of {} bytes, supported are 1 to {}; use another model",
                        token.content.size(), kMaxAddedTokenBytes);
  return token;
}

// Hugging Face takes a token's id from the vocabulary where it is in there, and else the next free
// one, whatever the file says; a file that says otherwise is refused.
Result<void> read_added_tokens(const JsonPlace& list, TokenizerFile& out) {
  HAIRPIN_TRY(const auto places, list.items());
  if (places.size() > kMaxAddedTokens)
    return list.refuse("{} tokens, more than {}; use another model", places.size(),
                       kMaxAddedTokens);
  auto next_id = static_cast<std::int32_t>(out.vocabulary.size());
  std::unordered_set<std::string> seen;
  for (const auto& place : places) {
    HAIRPIN_TRY(auto token, read_added_token(place));
    if (!seen.insert(token.content).second)
      return place.refuse("\"{}\" comes twice; use an intact file", shortened(token.content));
    const auto known = out.vocabulary.find(token.content);
    const auto due = known != out.vocabulary.end() ? known->second : next_id;
    if (token.id != due)
      return place.refuse("the id of \"{}\" is {} where {} is due; use an intact file",
                          shortened(token.content), token.id, due);
    next_id = std::max(next_id, token.id + 1);
    out.added.push_back(std::move(token));
  }
  return {};
}

}  // namespace

Result<TokenizerFile> parse_tokenizer_file(std::string_view text, std::string_view name) {
  HAIRPIN_TRY(const auto document, json::parse(text, name));
  const JsonPlace root(document, name);
  HAIRPIN_CHECK_OK(root.only({"version", "truncation", "padding", "added_tokens", "normalizer",
                              "pre_tokenizer", "post_processor", "decoder", "model"}));
  HAIRPIN_CHECK_OK(root.must_be("version", "1.0"));
  for (const char* key : {"truncation", "padding", "normalizer"})
    HAIRPIN_CHECK_OK(root.must_be(key, nullptr));
  TokenizerFile out;
  HAIRPIN_TRY(const auto model, root.at("model"));
  HAIRPIN_CHECK_OK(read_model(model, out));
  HAIRPIN_TRY(const auto pre_tokenizer, root.at("pre_tokenizer"));
  HAIRPIN_CHECK_OK(read_pre_tokenizer(pre_tokenizer, out));
  if (const auto post_processor = root.find("post_processor"))
    HAIRPIN_CHECK_OK(check_post_processor(*post_processor));
  HAIRPIN_TRY(const auto decoder, root.at("decoder"));
  HAIRPIN_CHECK_OK(check_decoder(decoder));
  if (const auto added = root.find("added_tokens"))
    HAIRPIN_CHECK_OK(read_added_tokens(*added, out));
  return out;
}

}  // namespace hairpin::tokenizer
