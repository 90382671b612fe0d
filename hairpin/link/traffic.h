// What went over one direction of a link, and where the time went.
#pragma once

#include <chrono>
#include <cstdint>

namespace hairpin::link {

using Moment = std::chrono::steady_clock::time_point;

struct Traffic {
  std::uint64_t bytes = 0;  // of frames; fragments' headers and TLS are not counted
  std::uint64_t messages = 0;
  // Summed over frames, which may overlap. Sent: from send() to the first byte's handing to the
  // kernel. Received: from the last byte's arrival to the program's receive().
  std::chrono::nanoseconds queueing{0};
  // Summed over frames: from the first byte to the last, handed to the kernel or come from it.
  std::chrono::nanoseconds transfer{0};
  // No frame at all: none queued or being handed over, none arriving.
  std::chrono::nanoseconds idle{0};
};

// Keeps a Traffic. Not thread-safe; moments are of one clock that never goes back.
class TrafficMeter {
 public:
  explicit TrafficMeter(Moment now) : idle_since_(now) {}

  // A frame is there: every `begin` is followed by one `end`.
  void begin(Moment now);
  void end(Moment now);
  void count_frame(std::uint64_t bytes, std::chrono::nanoseconds transfer);
  void count_queueing(std::chrono::nanoseconds queueing) { traffic_.queueing += queueing; }

  Traffic at(Moment now) const;

 private:
  Traffic traffic_;
  std::uint64_t frames_ = 0;  // there
  Moment idle_since_;
};

}  // namespace hairpin::link
