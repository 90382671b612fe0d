// How much bulk may be under way at once: what the path holds and a little more. TCP itself goes on
// until the network's queues are full, and then a heartbeat waits in them; with the little more
// kept small it waits for that little only, and the path is never empty. While the path's rate is
// still being found, the little is two fifths of what the path is known to hold.
//
// Pure: the caller looks at the clock and the kernel. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "hairpin/link/traffic.h"

namespace hairpin::link {

class Window {
 public:
  // Waiting time in the network that bulk may cause. A link is found faster by so much per round
  // trip.
  static constexpr std::chrono::milliseconds kQueue{20};
  // Below this round trip a full queue is short, and what is measured is the machine: no bound.
  static constexpr std::chrono::milliseconds kShortPath{5};
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{256} << 10;

  // Of all connections that carry bulk, since the link began.
  struct Seen {
    Moment now{};
    std::uint64_t delivered_bytes = 0;
    std::chrono::microseconds rtt{0}, min_rtt{0};  // as it is now, and at its least; 0: not known
  };
  // To be told whenever bulk is about to go or cannot go.
  void see(const Seen& seen);
  // There is no bulk to send: what is delivered now says nothing about the path.
  void idle();

  // Bytes handed to the kernel and neither there nor lost; empty: as many as the kernel takes.
  std::optional<std::uint64_t> limit() const;

 private:
  void add_rate(double bytes_per_second);
  void see_start_up(const Seen& seen);
  bool found() const;  // the path's rate

  std::optional<Seen> began_;  // of the rate that is being measured
  std::chrono::microseconds min_rtt_{0};
  std::deque<double> rates_;            // the last ones, bytes a second
  double best_ = 0;                     // while growing
  int not_grown_ = 0;                   // rates in a row
  std::optional<Seen> start_up_began_;  // of the short time that is being measured
  double start_up_rate_ = 0;            // the best one
};

}  // namespace hairpin::link
