// What the kernel says of a TCP connection. Linux.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace hairpin::link {

struct TcpState {
  std::uint32_t delivered_packets = 0;  // so far, modulo 2^32; counted as they come, in any order
  std::uint32_t packet_bytes = 0;       // of a full packet
  // Handed to the kernel and, as far as it knows, neither there nor lost.
  std::uint64_t under_way_bytes = 0;
  std::chrono::microseconds rtt{0};      // smoothed by the kernel
  std::chrono::microseconds min_rtt{0};  // 0: none yet
  bool unacknowledged = false;           // anything that was sent
  // Since the peer acknowledged anything, even that its buffer is full. It has nothing to
  // acknowledge while nothing is sent: unanswered.h.
  std::chrono::milliseconds since_acknowledged{0};
};

// Empty for what is no TCP connection (any more).
std::optional<TcpState> tcp_state(int fd);

}  // namespace hairpin::link
