#include "hairpin/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "hairpin/base/file.h"
#include "hairpin/tokenizer/byte_symbols.h"
#include "hairpin/tokenizer/tokenizer_file.h"
#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 30;

std::unordered_map<std::string, std::int32_t> by_bytes(const TokenizerFile& file) {
  std::unordered_map<std::string, std::int32_t> ids;
  for (const auto& [token, id] : file.vocabulary)
    if (auto bytes = bytes_of_symbols(token); bytes && !bytes->empty())
      ids.emplace(*std::move(bytes), id);
  return ids;
}

std::vector<const AddedToken*> tokens_of_pass(const std::vector<AddedToken>& added, bool second) {
  std::vector<const AddedToken*> tokens;
  for (const auto& token : added)
    if (token.normalized == second) tokens.push_back(&token);
  return tokens;
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& file) {
  HAIRPIN_TRY(const auto text, read_text_file(file));
  return parse(text, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view text, std::string_view name) {
  HAIRPIN_TRY(auto file, parse_tokenizer_file(text, name));
  return Tokenizer(std::move(file));
}

Tokenizer::Tokenizer(TokenizerFile file)
    : added_(std::move(file.added)), pre_tokenizer_(std::move(file.cuts)) {
  for (const bool second : {false, true}) passes_.emplace_back(tokens_of_pass(added_, second));
  bpe_ = std::make_unique<Bpe>(by_bytes(file), file.merges, file.unknown, file.ignore_merges);
  for (const auto& token : added_) add_entry(token.id, token.content, token.special);
  for (const auto& [token, id] : file.vocabulary) add_entry(id, token, false);
}

void Tokenizer::add_entry(std::int32_t id, const std::string& token, bool special) {
  // A token with a character outside the byte alphabet stands for its own text.
  entries_.try_emplace(id, Entry{bytes_of_symbols(token).value_or(token), special});
  vocabulary_size_ = std::max(vocabulary_size_, std::int64_t{id} + 1);
}

Result<std::vector<Tokenizer::Token>> Tokenizer::encode_with_offsets(std::string_view text) const {
  if (text.size() > kMaxText)
    return bad_input("a text of {} bytes, more than {}; split it", text.size(), kMaxText);
  if (const auto offset = first_invalid_utf8(text))
    return bad_input("invalid UTF-8 at byte {} of the text; correct its encoding", *offset);
  std::vector<Token> tokens;
  encode_pass(0, text, 0, tokens);
  return tokens;
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text) const {
  HAIRPIN_TRY(const auto tokens, encode_with_offsets(text));
  std::vector<std::int32_t> ids;
  ids.reserve(tokens.size());
  for (const auto& token : tokens) ids.push_back(token.id);
  return ids;
}

void Tokenizer::encode_pass(std::size_t pass, std::string_view text, std::size_t offset,
                            std::vector<Token>& out) const {
  if (text.empty()) return;
  if (pass == passes_.size()) return encode_plain(text, offset, out);
  std::size_t at = 0;
  while (const auto match = passes_[pass].find(text, at)) {
    encode_pass(pass + 1, text.substr(at, match->begin - at), offset + at, out);
    out.push_back({match->token->id, offset + match->begin});
    at = match->end;
  }
  encode_pass(pass + 1, text.substr(at), offset + at, out);
}

void Tokenizer::encode_plain(std::string_view text, std::size_t offset,
                             std::vector<Token>& out) const {
  std::vector<PieceToken> tokens;
  pre_tokenizer_.cut(text, [&](const PreTokenizer::Piece& piece) {
    tokens.clear();
    bpe_->encode(piece.text, tokens);
    for (const auto& token : tokens) {
      const std::size_t begin = std::max<std::size_t>(token.offset, piece.missing) - piece.missing;
      out.push_back({token.id, offset + piece.offset + begin});
    }
  });
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end() || (skip_special && entry->second.special)) continue;
    bytes += entry->second.bytes;
  }
  return with_replacement_characters(bytes);
}

std::optional<std::int32_t> Tokenizer::find_added(std::string_view content) const {
  for (const auto& token : added_)
    if (token.content == content) return token.id;
  return std::nullopt;
}

const AddedToken* Tokenizer::first_special_in(std::string_view text) const {
  for (const auto& pass : passes_)
    for (auto match = pass.find(text, 0); match; match = pass.find(text, match->end))
      if (match->token->special) return match->token;
  return nullptr;
}

}  // namespace hairpin::tokenizer
