// The receiving side of fragments: puts frames together again, from several connections at once,
// and gives their messages out in order. Holds no more memory than it says, whatever the peer
// sends.
//
// Not thread-safe. Times are the caller's, of one clock that never goes back.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/wire/fragment.h"
#include "hairpin/wire/message.h"
#include "hairpin/wire/opening.h"

namespace hairpin::wire {

using Moment = std::chrono::steady_clock::time_point;

// How a message came.
struct Arrival {
  std::uint64_t frame_bytes = 0;
  Moment began{}, ended{};  // its first fragment's start, its last one's end
  // What the link brought in from its first bytes on, all frames together: the bandwidth at that
  // time is bytes_after / (ended - measured_from).
  Moment measured_from{};
  std::uint64_t bytes_after = 0;
};

struct Arrived {
  Message message;
  Arrival arrival;
};

class Reassembler {
 public:
  static constexpr std::uint64_t kMaxOpenFrames = 1024;
  static constexpr std::uint64_t kMaxHeldFrames = 4;  // of the greatest size, in memory together

  // Whether the fragment may come now. Otherwise its connection must wait until frames before it
  // are complete; they come on the other connections.
  bool admits(const FragmentHeader& header, std::uint64_t max_frame_bytes) const;

  // Where the fragment's bytes belong; the memory stays valid until `filled`. One fragment a
  // connection at a time. A fragment that comes twice, or against the order of its connection, or
  // that contradicts another of its frame: ErrorKind::peer.
  Result<std::span<std::byte>> place(int connection, const FragmentHeader& header, Moment now);

  // So many bytes more of the fragment are there. For the measure of bandwidth only.
  void came(int connection, std::uint64_t bytes, Moment now);

  // The connection's fragment is whole: the messages that are due now, in order. A damaged or
  // malformed frame: ErrorKind::peer.
  Result<std::vector<Arrived>> filled(int connection, Moment now);

  // Frames of which something but not everything was given out.
  std::size_t open_frames() const { return bulk_.size() + (control_ ? 1 : 0); }
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Partial {
    FragmentHeader first;  // of the frame, as its first fragment to come had it
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t filled = 0;
    std::vector<bool> taken;  // by kFragmentUnit; of bulk
    Arrival arrival;
    bool measuring = false;
    std::uint64_t bytes_before = 0;  // of all frames, when measuring began
  };
  struct Connection {
    std::optional<FragmentHeader> filling;
    std::uint64_t last_frame = 0, next_offset = 0;  // of bulk
  };

  Partial open(const FragmentHeader& header, Moment now);
  Result<Partial*> partial_of(int connection, const FragmentHeader& header, Moment now);
  Result<void> take(Connection& connection, Partial& partial, const FragmentHeader& header);
  Partial* find(const FragmentHeader& header);
  Result<Arrived> finish(Partial partial);

  std::array<Connection, kMaxConnections> connections_;
  std::optional<Partial> control_;         // under way; there is never a second
  std::map<std::uint64_t, Partial> bulk_;  // by number
  std::uint64_t next_control_ = 0, next_bulk_ = 0;
  std::uint64_t held_bytes_ = 0, total_bytes_ = 0;
};

}  // namespace hairpin::wire
