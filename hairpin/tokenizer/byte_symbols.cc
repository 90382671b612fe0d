#include "hairpin/tokenizer/byte_symbols.h"

#include <array>

#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr int kStandIns = 68;

constexpr bool prints(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> symbol{};
  std::array<unsigned char, kStandIns> stood_for{};
};

constexpr Alphabet make_alphabet() {
  Alphabet made;
  std::size_t stand_ins = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const auto at = static_cast<std::size_t>(byte);
    made.symbol[at] = static_cast<char32_t>(byte);
    if (prints(byte)) continue;
    made.stood_for[stand_ins] = static_cast<unsigned char>(byte);
    made.symbol[at] = kFirstStandIn + static_cast<char32_t>(stand_ins++);
  }
  return made;
}

constexpr Alphabet kAlphabet = make_alphabet();

std::optional<unsigned char> byte_of_symbol(char32_t symbol) {
  if (symbol < 0x100 && prints(static_cast<int>(symbol))) return static_cast<unsigned char>(symbol);
  if (symbol >= kFirstStandIn && symbol < kFirstStandIn + kStandIns)
    return kAlphabet.stood_for[symbol - kFirstStandIn];
  return std::nullopt;
}

}  // namespace

char32_t symbol_of_byte(unsigned char byte) { return kAlphabet.symbol[byte]; }

std::optional<std::string> bytes_of_symbols(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const auto unit = utf8_unit_at(token, at);
    const auto byte = unit.code_point ? byte_of_symbol(*unit.code_point) : std::nullopt;
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += unit.length;
  }
  return bytes;
}

std::string symbols_of_bytes(std::string_view bytes) {
  std::string symbols;
  for (const char byte : bytes)
    append_utf8(symbols, symbol_of_byte(static_cast<unsigned char>(byte)));
  return symbols;
}

}  // namespace hairpin::tokenizer
