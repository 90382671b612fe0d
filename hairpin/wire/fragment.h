// Frames cross a connection cut into fragments, so that a short frame never waits for a long one.
// docs/protocol.md has the bytes. Pure functions.
#pragma once

#include <cstdint>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/frame.h"

namespace hairpin::wire {

inline constexpr std::size_t kFragmentHeaderBytes = 44;
// A fragment begins at a multiple of the unit within its frame, and so it ends, or with the frame.
inline constexpr std::uint64_t kFragmentUnit = std::uint64_t{16} << 10;
inline constexpr std::uint64_t kMaxFragmentBytes = std::uint64_t{256} << 10;

struct FragmentHeader {
  Lane lane = Lane::control;
  std::uint64_t frame = 0;     // its sequence in its lane
  std::uint64_t controls = 0;  // of bulk: so many control frames come before it
  std::uint64_t frame_bytes = 0;
  std::uint64_t offset = 0;  // of this fragment in the frame
  std::uint32_t bytes = 0;   // of this fragment
  bool operator==(const FragmentHeader&) const = default;
};

// Appends kFragmentHeaderBytes to `out`.
void encode(const FragmentHeader& header, Bytes& out);

// Refuses what breaks the rules above, and a frame of more than `max_frame_bytes`.
Result<FragmentHeader> decode_fragment_header(ByteSpan bytes, std::uint64_t max_frame_bytes);

}  // namespace hairpin::wire
