// The alphabet of byte-level BPE: each byte is written as one printable character (GPT-2).
//
// The bytes that print in Latin-1 (! to ~, U+00A1 to U+00AC, U+00AE to U+00FF) stand for
// themselves; the other 68, in order, are U+0100, U+0101, ... A space is thus "\u0120".
// Vocabulary files are in these characters; inside Hairpin tokens are plain bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hairpin::tokenizer {

char32_t symbol_of_byte(unsigned char byte);

// The bytes a token of a vocabulary file stands for; none when it holds a character that is not in
// the alphabet, or is not UTF-8.
std::optional<std::string> bytes_of_symbols(std::string_view token);

// The inverse, for writing such files.
std::string symbols_of_bytes(std::string_view bytes);

}  // namespace hairpin::tokenizer
