// A Hugging Face byte-level BPE tokenizer: text to token ids and back, the same ids and the same
// text as Hugging Face's `tokenizers` gives for the same tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/tokenizer/added_tokens.h"
#include "hairpin/tokenizer/bpe.h"
#include "hairpin/tokenizer/pre_tokenizer.h"

namespace hairpin::tokenizer {

struct TokenizerFile;

// Immutable; safe to share between threads. Movable, not copyable.
class Tokenizer {
 public:
  // `file` is a tokenizer.json; what is read and what is refused: tokenizer_file.h.
  static Result<Tokenizer> load(const std::filesystem::path& file);
  // The same from its text; `name` stands for the file in messages.
  static Result<Tokenizer> parse(std::string_view text, std::string_view name);

  // The ids of a text, no tokens added before or after. Texts of added tokens become these tokens.
  // Refused: invalid UTF-8 (the message gives the offset of the byte), more than 2^30 bytes. A byte
  // the vocabulary has no token for is left out, as Hugging Face does: SmolLM2 has none for six
  // control characters.
  Result<std::vector<std::int32_t>> encode(std::string_view text) const;

  // The same, with the offset in `text` where each token begins.
  struct Token {
    std::int32_t id = 0;
    std::size_t offset = 0;
  };
  Result<std::vector<Token>> encode_with_offsets(std::string_view text) const;

  // The text of ids. Bytes that are not UTF-8 become U+FFFD; ids without a token (a model's padded
  // vocabulary has such) give nothing; special tokens give nothing with `skip_special`.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const;

  // The id of an added token by its text.
  std::optional<std::int32_t> find_added(std::string_view content) const;
  // The first special token whose text occurs in `text`.
  const AddedToken* first_special_in(std::string_view text) const;
  // One more than the highest id.
  std::int64_t vocabulary_size() const { return vocabulary_size_; }

 private:
  explicit Tokenizer(TokenizerFile file);
  void add_entry(std::int32_t id, const std::string& token, bool special);
  void encode_plain(std::string_view text, std::size_t offset, std::vector<Token>& out) const;
  // Looks for the added tokens of a pass, and leaves what is between them to the next pass.
  void encode_pass(std::size_t pass, std::string_view text, std::size_t offset,
                   std::vector<Token>& out) const;

  struct Entry {
    std::string bytes;
    bool special = false;
  };
  std::vector<AddedToken> added_;
  std::vector<TokenMatcher> passes_;  // verbatim tokens, then "normalized" ones
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<const Bpe> bpe_;
  std::unordered_map<std::int32_t, Entry> entries_;  // by id
  std::int64_t vocabulary_size_ = 0;
};

}  // namespace hairpin::tokenizer
