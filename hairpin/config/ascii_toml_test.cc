#include "hairpin/config/ascii_toml.h"

#include <gtest/gtest.h>

namespace hairpin::config {
namespace {

std::string ascii(std::string_view toml) {
  const auto text = to_ascii_toml(toml);
  return text ? *text : "refused: " + text.error().reason;
}
std::size_t refused_line(std::string_view toml) {
  const auto text = to_ascii_toml(toml);
  return text ? 0 : text.error().line;
}

TEST(AsciiTomlTest, AsciiStaysAsItIs) {
  for (const char* text : {"", "a = 1\r\n\tb = 2", "a = \"x\" # y", "a = \"\\\"x\\\\\" # '",
                           "a = 'x\\'", "a = \"open\n'open\nb = \"\"", "a = \"\\"})
    EXPECT_EQ(ascii(text), text);
}

TEST(AsciiTomlTest, CommentsAndStringsMayHoldAnyCharacter) {
  EXPECT_EQ(ascii("a = 1 # é€𝄞\nb = 2"), "a = 1 # ???\nb = 2");
  EXPECT_EQ(ascii("a = \"é€𝄞'\""), "a = \"\\U000000E9\\U000020AC\\U0001D11E'\"");
  EXPECT_EQ(ascii("a = \"\\\"é\""), "a = \"\\\"\\U000000E9\"");
  EXPECT_EQ(ascii("a = \"\\\\\" # é"), "a = \"\\\\\" # ?");
}

TEST(AsciiTomlTest, ElsewhereTheyAreRefusedWithTheirLine) {
  EXPECT_EQ(refused_line("é"), 1u);
  EXPECT_EQ(refused_line("# é\n\nb = é"), 3u);
  EXPECT_EQ(refused_line("a = \"x\" é"), 1u);
  EXPECT_EQ(refused_line("a = 'é'"), 1u);
  EXPECT_EQ(refused_line("a = \"x\né"), 2u);
  EXPECT_EQ(refused_line("a = \"\\é\""), 1u);
}

TEST(AsciiTomlTest, ControlCharactersAndMultiLineStringsAreRefused) {
  EXPECT_EQ(ascii("a = \"\x1b\""), "refused: control character 0x1B; remove it");
  EXPECT_EQ(refused_line("# \x7f"), 1u);
  EXPECT_EQ(refused_line(std::string_view("\n\0", 2)), 2u);
  EXPECT_EQ(refused_line("a = 1\nb = \"\"\"x\n\"\"\""), 2u);
  EXPECT_EQ(refused_line("b = '''x'''"), 1u);
  EXPECT_EQ(refused_line("b = \"\" # \"\"\""), 0u);
}

TEST(AsciiTomlTest, InvalidUtf8IsRefused) {
  for (const char* bytes :
       {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(ascii("# " + std::string(bytes)), "refused: not UTF-8; save the file as UTF-8");
  EXPECT_EQ(ascii("# \xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80"),
            "# ??????");
}

}  // namespace
}  // namespace hairpin::config
