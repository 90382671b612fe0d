#include "hairpin/config/ascii_toml.h"

#include <fmt/core.h>

#include <cstdint>
#include <optional>

namespace hairpin::config {
namespace {

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

class Translator {
 public:
  explicit Translator(std::string_view toml) : toml_(toml) {}

  tl::expected<std::string, RefusedText> run() {
    while (!refused_ && at_ < toml_.size()) step();
    if (refused_) return tl::unexpected(*refused_);
    return out_;
  }

 private:
  enum class Place { bare, comment, basic, literal };

  void step() {
    const char c = toml_[at_];
    if (c == '\n') {  // where an open string ends too: the parser's to report
      place_ = Place::bare;
      ++line_;
    } else if (is_control(static_cast<unsigned char>(c))) {
      return refuse(fmt::format("control character 0x{:02X}; remove it", c));
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return foreign();
    } else if (place_ == Place::bare) {
      enter(c);
      if (refused_) return;
    } else if ((place_ == Place::basic && c == '"') || (place_ == Place::literal && c == '\'')) {
      place_ = Place::bare;
    } else if (place_ == Place::basic && c == '\\') {
      escape();
      return;
    }
    copy(1);
  }

  void enter(char c) {
    if (c == '#') place_ = Place::comment;
    if (c != '"' && c != '\'') return;
    if (toml_.substr(at_, 3) == std::string(3, c))
      return refuse("a multi-line string; write it in one line");
    place_ = c == '"' ? Place::basic : Place::literal;
  }

  // A backslash and what it escapes, so that an escaped quote ends nothing.
  void escape() {
    const auto next = at_ + 1 < toml_.size() ? static_cast<unsigned char>(toml_[at_ + 1]) : '\n';
    if (next >= 0x80) return refuse("an unknown escape; write \\\\ for a backslash");
    copy(next == '"' || next == '\\' ? 2 : 1);
  }

  // One character beyond ASCII.
  void foreign() {
    if (place_ == Place::bare) return refuse("a character outside quotes; put the text in \"...\"");
    if (place_ == Place::literal)
      return refuse("a character beyond ASCII in '...'; put the text in \"...\"");
    const auto code_point = decode();
    if (!code_point) return refuse("not UTF-8; save the file as UTF-8");
    out_ += place_ == Place::comment ? "?" : fmt::format("\\U{:08X}", *code_point);
  }

  // UTF-8 (RFC 3629): two to four bytes, no longer than needed, no surrogates.
  std::optional<std::uint32_t> decode() {
    const auto first = static_cast<unsigned char>(toml_[at_]);
    const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    static constexpr std::uint32_t kLeast[] = {0x80, 0x800, 0x10000};
    if (first < 0xc2 || first > 0xf4 || size > toml_.size() - at_) return std::nullopt;
    std::uint32_t code_point = first & (0x7fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(toml_[at_ + i]);
      if ((byte & 0xc0) != 0x80) return std::nullopt;
      code_point = code_point << 6 | (byte & 0x3fu);
    }
    const bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (code_point < kLeast[size - 2] || code_point > 0x10ffff || surrogate) return std::nullopt;
    at_ += size;
    return code_point;
  }

  void copy(std::size_t size) {
    out_ += toml_.substr(at_, size);
    at_ += size;
  }
  void refuse(std::string reason) { refused_ = RefusedText{line_, std::move(reason)}; }

  std::string_view toml_;
  std::size_t at_ = 0, line_ = 1;
  Place place_ = Place::bare;
  std::string out_;
  std::optional<RefusedText> refused_;
};

}  // namespace

tl::expected<std::string, RefusedText> to_ascii_toml(std::string_view toml) {
  return Translator(toml).run();
}

}  // namespace hairpin::config
