// A job's text in ASCII alone, saying the same. toml++ (3.3) has no defined behaviour for a
// character such as U+00E9 wherever it looks for white space, so it is never shown one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace hairpin::config {

struct RefusedText {
  std::size_t line = 1;
  std::string reason;  // what it is and what to do
};

// Characters beyond ASCII become '?' in comments and \u escapes in "strings"; every line stays
// where it is. Refused: such characters elsewhere, invalid UTF-8, control characters other than tab
// and line ends, and multi-line strings, which no key needs. Whether the text is TOML is not asked.
tl::expected<std::string, RefusedText> to_ascii_toml(std::string_view toml);

}  // namespace hairpin::config
