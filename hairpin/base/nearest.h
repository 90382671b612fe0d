// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hairpin {

// The candidate with the smallest edit distance, if that distance is at most a third of the
// word's length (and at least 1); ties go to the first.
std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string> candidates);

}  // namespace hairpin
