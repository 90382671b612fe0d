// Text from the peer, made fit for a log line or a terminal.
#pragma once

#include <string>
#include <string_view>

namespace hairpin::link {

// At most `max_size` bytes, all but printable ASCII shown as '?': nothing that a terminal would
// obey, in no encoding. A cut text ends in "...".
inline std::string peer_text(std::string_view text, std::size_t max_size = 1000) {
  std::string shown(text.substr(0, max_size));
  for (char& c : shown)
    if (c < 0x20 || c > 0x7e) c = '?';
  if (text.size() > max_size) shown += "...";
  return shown;
}

}  // namespace hairpin::link
