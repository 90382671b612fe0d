// How long a peer has acknowledged nothing of what was sent to it, from looks at the kernel's
// account of a TCP connection now and then. A connection that had nothing to send for long, and
// then sends, has only just begun to wait.
//
// Pure: the caller looks at the clock and the kernel. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>

#include "hairpin/link/tcp_state.h"
#include "hairpin/link/traffic.h"

namespace hairpin::link {

class Unanswered {
 public:
  // To be told every now and then; how long the peer has been silent: never too much, and too
  // little by no more than the time between two looks.
  std::chrono::milliseconds see(Moment now, const TcpState& state);

 private:
  std::optional<Moment> since_;  // something unacknowledged has been seen at every look
};

}  // namespace hairpin::link
