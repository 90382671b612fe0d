#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

// What may follow a first byte: how many bytes, and the range of the first of them.
struct Following {
  int count = -1;  // -1: not a first byte
  unsigned char low = 0x80, high = 0xBF;
  char32_t bits = 0;  // of the first byte
};

Following following(unsigned char first) {
  if (first < 0x80) return {0, 0x80, 0xBF, first};
  if (first < 0xC2) return {};
  if (first < 0xE0) return {1, 0x80, 0xBF, static_cast<char32_t>(first & 0x1F)};
  if (first < 0xF0) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return {2, low, high, static_cast<char32_t>(first & 0x0F)};
  }
  if (first < 0xF5) {
    const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
    return {3, low, high, static_cast<char32_t>(first & 0x07)};
  }
  return {};
}

}  // namespace

Utf8Unit utf8_unit_at(std::string_view text, std::size_t offset) {
  auto [count, low, high, code_point] = following(static_cast<unsigned char>(text[offset]));
  if (count < 0) return {};
  std::size_t length = 1;
  for (; count > 0; --count, ++length) {
    if (offset + length >= text.size()) return {std::nullopt, length};
    const auto byte = static_cast<unsigned char>(text[offset + length]);
    if (byte < low || byte > high) return {std::nullopt, length};
    code_point = (code_point << 6) | (byte & 0x3F);
    low = 0x80, high = 0xBF;
  }
  return {code_point, length};
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto unit = utf8_unit_at(text, at);
    if (!unit.code_point) return at;
    at += unit.length;
  }
  return std::nullopt;
}

std::string with_replacement_characters(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const auto unit = utf8_unit_at(bytes, at);
    if (unit.code_point)
      out.append(bytes, at, unit.length);
    else
      out += "\xEF\xBF\xBD";
    at += unit.length;
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6)), tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0);
  }
}

}  // namespace hairpin::tokenizer
