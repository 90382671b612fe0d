// Cuts text into the pieces that byte-level BPE merges inside of, by regular expressions (PCRE2).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace hairpin::tokenizer {

// GPT-2's pattern, as tokenizer.json files with a `Split` spell it (Radford et al., 2019; published
// in GPT-2's encoder and fixed in Hugging Face's ByteLevel).
extern const std::string_view kGpt2Pattern;

// One step of `pre_tokenizer`; each step cuts the pieces of the one before.
enum class Cut {
  words,           // GPT-2's pattern
  each_digit,      // every numeric character (\p{N}) is a piece of its own
  runs_of_digits,  // numeric characters together
  prefix_space,    // no cut: a space goes before each piece that doesn't begin with one
};

// Immutable; safe to share between threads. Movable.
//
// White space (\s) is Unicode's property White_Space, as in the Rust and Oniguruma engines; letters
// and numbers are those of PCRE2's Unicode tables (14.0 in Debian 12).
class PreTokenizer {
 public:
  explicit PreTokenizer(std::vector<Cut> cuts);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;

  // Calls `take` for each piece of `text` (valid UTF-8) in order, with the piece and the offset in
  // `text` where it begins. With `prefix_space` a piece may begin with a space that `text` lacks;
  // `missing` is then 1. Pieces are not empty and live only during the call.
  struct Piece {
    std::string_view text;
    std::size_t offset = 0;
    std::size_t missing = 0;
  };
  void cut(std::string_view text, const std::function<void(const Piece&)>& take) const;

 private:
  class Pattern;
  void cut_from(std::size_t step, const Piece& piece,
                const std::function<void(const Piece&)>& take) const;

  std::vector<Cut> cuts_;
  std::vector<std::unique_ptr<Pattern>> patterns_;  // by step; null where a step has none
};

}  // namespace hairpin::tokenizer
