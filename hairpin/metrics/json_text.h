// Pieces of JSON that the metrics files are written from.
#pragma once

#include <string>
#include <string_view>

namespace hairpin::metrics {

// The text in quotes, escaped; what is not UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

}  // namespace hairpin::metrics
