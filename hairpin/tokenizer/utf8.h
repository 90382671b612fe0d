// UTF-8 as the Unicode standard defines it (table 3-7: no surrogates, no overlong forms).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hairpin::tokenizer {

// What lies at `offset` (< text.size()): a code point and the bytes it takes; or no code point and
// the length of the broken part, at least 1 (the "maximal subpart" of the Unicode standard, 3.9).
struct Utf8Unit {
  std::optional<char32_t> code_point;
  std::size_t length = 1;
};
Utf8Unit utf8_unit_at(std::string_view text, std::size_t offset);

// Offset of the first byte that is not part of valid UTF-8; none when all of it is.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Valid UTF-8 as is; each broken part becomes one U+FFFD.
std::string with_replacement_characters(std::string_view bytes);

void append_utf8(std::string& out, char32_t code_point);

}  // namespace hairpin::tokenizer
