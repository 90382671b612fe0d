#include "hairpin/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <optional>
#include <string>
#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::tokenizer {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

// Unicode's White_Space. PCRE2's own \s has U+180E too, which stopped being white space in
// Unicode 6.3, so the patterns name the characters.
#define HAIRPIN_WHITE_SPACE \
  R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

// kGpt2Pattern with \s and \S spelled out.
constexpr const char* kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{L}\p{N})" HAIRPIN_WHITE_SPACE
    R"(]+|[)" HAIRPIN_WHITE_SPACE R"(]+(?![^)" HAIRPIN_WHITE_SPACE R"(])|[)" HAIRPIN_WHITE_SPACE
    R"(]+)";

const char* pattern_of(Cut cut) {
  switch (cut) {
    case Cut::words: return kWords;
    case Cut::each_digit: return R"(\p{N})";
    case Cut::runs_of_digits: return R"(\p{N}+)";
    case Cut::prefix_space: break;
  }
  return nullptr;
}

}  // namespace

class PreTokenizer::Pattern {
 public:
  explicit Pattern(const char* text) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
    HAIRPIN_CHECK(code_ != nullptr, "pattern '{}': error {} at {}", text, error, at);
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // where there is no JIT, matching is slower
  }
  Pattern(const Pattern&) = delete;
  ~Pattern() { pcre2_code_free(code_); }

  const pcre2_code* code() const { return code_; }

 private:
  pcre2_code* code_ = nullptr;
};

namespace {

// The matches of a pattern in one text, left to right.
class Matches {
 public:
  Matches(const pcre2_code* code, std::string_view text)
      : code_(code), text_(text), data_(pcre2_match_data_create(1, nullptr)) {
    HAIRPIN_CHECK(data_ != nullptr, "out of memory");
  }
  Matches(const Matches&) = delete;
  ~Matches() { pcre2_match_data_free(data_); }

  // Begin and end of the first match at or after `from`.
  std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t from) {
    const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                                  from, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data_, nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
    HAIRPIN_CHECK(found > 0, "PCRE2 error {} in a text of {} bytes", found, text_.size());
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_);
    return std::pair{ends[0], ends[1]};
  }

 private:
  const pcre2_code* code_;
  std::string_view text_;
  pcre2_match_data* data_;
};

}  // namespace

PreTokenizer::PreTokenizer(std::vector<Cut> cuts) : cuts_(std::move(cuts)) {
  for (const Cut cut : cuts_) {
    const char* pattern = pattern_of(cut);
    patterns_.push_back(pattern ? std::make_unique<Pattern>(pattern) : nullptr);
  }
}
PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;

void PreTokenizer::cut(std::string_view text, const std::function<void(const Piece&)>& take) const {
  cut_from(0, {text, 0, 0}, take);
}

void PreTokenizer::cut_from(std::size_t step, const Piece& piece,
                            const std::function<void(const Piece&)>& take) const {
  if (piece.text.empty()) return;
  if (step == cuts_.size()) return take(piece);
  if (cuts_[step] == Cut::prefix_space) {
    if (piece.text.front() == ' ') return cut_from(step + 1, piece, take);
    const std::string longer = " " + std::string(piece.text);
    return cut_from(step + 1, {longer, piece.offset, 1}, take);
  }
  // Matches and the text between them are pieces alike.
  const auto part = [&](std::size_t begin, std::size_t end) {
    const std::size_t skipped = begin > piece.missing ? begin - piece.missing : 0;
    cut_from(step + 1,
             {piece.text.substr(begin, end - begin), piece.offset + skipped,
              begin == 0 ? piece.missing : 0},
             take);
  };
  Matches matches(patterns_[step]->code(), piece.text);
  std::size_t at = 0;
  while (at < piece.text.size()) {
    const auto match = matches.find(at);
    if (!match) return part(at, piece.text.size());
    part(at, match->first);
    part(match->first, match->second);
    at = match->second;
  }
}

}  // namespace hairpin::tokenizer
