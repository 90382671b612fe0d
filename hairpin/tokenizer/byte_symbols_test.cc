#include "hairpin/tokenizer/byte_symbols.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hairpin::tokenizer {
namespace {

TEST(ByteSymbols, AreThoseOfGpt2) {
  EXPECT_EQ(symbol_of_byte(0x00), U'\u0100');
  EXPECT_EQ(symbol_of_byte('\n'), U'\u010A');
  EXPECT_EQ(symbol_of_byte(' '), U'\u0120');
  EXPECT_EQ(symbol_of_byte('!'), U'!');
  EXPECT_EQ(symbol_of_byte('~'), U'~');
  EXPECT_EQ(symbol_of_byte(0x7F), U'\u0121');
  EXPECT_EQ(symbol_of_byte(0xA0), U'\u0142');
  EXPECT_EQ(symbol_of_byte(0xAD), U'\u0143');
  EXPECT_EQ(symbol_of_byte(0xFF), U'\u00FF');
}

TEST(ByteSymbols, GoBothWays) {
  std::string all;
  std::set<char32_t> symbols;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    symbols.insert(symbol_of_byte(static_cast<unsigned char>(byte)));
  }
  EXPECT_EQ(symbols.size(), 256u);
  EXPECT_EQ(bytes_of_symbols(symbols_of_bytes(all)), all);
}

TEST(ByteSymbols, KnowNothingElse) {
  EXPECT_EQ(bytes_of_symbols("a b"), std::nullopt);     // a plain space
  EXPECT_EQ(bytes_of_symbols("\u0144"), std::nullopt);  // one past the last
  EXPECT_EQ(bytes_of_symbols("\u00AD"), std::nullopt);  // stands for nothing itself
  EXPECT_EQ(bytes_of_symbols("\xC4"), std::nullopt);    // not UTF-8
}

}  // namespace
}  // namespace hairpin::tokenizer
