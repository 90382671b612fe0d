// One line of the egress log: its text, its hash, its place in the chain.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hairpin/wire/message.h"

namespace hairpin::egress {

inline constexpr int kFormat = 1;
inline constexpr std::size_t kMaxLineBytes = 4096;

// `fields` is the inside of a JSON object without braces, from `"type"` on. Returns the whole line
// without its line feed; `hash` becomes the line's own hash. For the first line it is 64 zeros.
std::string chain_line(std::uint64_t sequence, std::string_view fields, std::string& hash);
std::string first_previous();

// The fields that describe a frame: its type, size, and what it is about; never what is in it.
std::string frame_fields(const wire::Message& message, std::uint64_t frame_bytes,
                         std::string_view time);

// The hash a line carries, if it has the form of a line at all, and whether it is that of its text.
struct LineHash {
  std::string hash;
  bool right = false;
};
std::optional<LineHash> hash_of_line(std::string_view line);

}  // namespace hairpin::egress
