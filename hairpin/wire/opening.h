// The first bytes on each connection of a link, before any frame: which connection of how many this
// is, and of which session. docs/protocol.md has the bytes. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"

namespace hairpin::wire {

inline constexpr std::size_t kOpeningBytes = 40;
inline constexpr int kMaxConnections = 16;

// Random, made by the cloud for one link. All zeros: none yet.
using SessionId = std::array<std::byte, 32>;

// The edge sends one on each connection; the cloud answers with its own number of connections and
// with the session's id, which the edge must show on all connections but the first.
struct Opening {
  std::uint8_t connection = 0;   // 0: the first
  std::uint8_t connections = 1;  // of the link, 1 to kMaxConnections
  SessionId session{};
  bool operator==(const Opening&) const = default;
};

Bytes encode(const Opening& opening);

// `bytes` are the first kOpeningBytes, or fewer where the peer ended. Errors are ErrorKind::peer.
Result<Opening> decode_opening(ByteSpan bytes);

}  // namespace hairpin::wire
