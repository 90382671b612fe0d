// Byte-pair encoding (Sennrich et al., 2016) over bytes, as GPT-2 and Hugging Face's `BPE` model
// apply it: of all adjacent pairs that have a merge, the one listed first is merged, leftmost
// first, until none is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hairpin::tokenizer {

// A merge of two token ids, as listed: earlier ones come first.
struct Merge {
  std::int32_t left = 0, right = 0, merged = 0;
};

// A token of an encoded piece and where its bytes begin in the piece.
struct PieceToken {
  std::int32_t id = 0;
  std::uint32_t offset = 0;
};

// Immutable; safe to share between threads.
class Bpe {
 public:
  // `id_of_bytes`: token ids by the bytes they stand for. Of two merges of the same pair the later
  // one counts. With `whole_words` a piece that is itself a token is that token, merges or not
  // (`ignore_merges`). `unknown` is the token of bytes that have none.
  Bpe(std::unordered_map<std::string, std::int32_t> id_of_bytes, const std::vector<Merge>& merges,
      std::optional<std::int32_t> unknown, bool whole_words);
  Bpe(const Bpe&) = delete;

  // Appends the tokens of one piece of less than 2^31 bytes. A byte that has no token, nor an
  // unknown one, is left out, as Hugging Face does.
  void encode(std::string_view piece, std::vector<PieceToken>& out) const;

 private:
  struct Ranked {
    std::int32_t rank = 0, merged = 0;
  };
  struct Symbol;
  class Queue;
  const Ranked* merge_of(std::int32_t left, std::int32_t right) const;
  void merge_all(std::string_view piece, std::vector<PieceToken>& out) const;
  void find_whole_words();

  std::unordered_map<std::string, std::int32_t> id_of_bytes_;
  std::array<std::int32_t, 256> id_of_byte_;
  std::unordered_map<std::uint64_t, Ranked> merges_;
  // Pieces that are known to end as one token: most words of most texts.
  std::unordered_map<std::string_view, std::int32_t> single_;
};

}  // namespace hairpin::tokenizer
