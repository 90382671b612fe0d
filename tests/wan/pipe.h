// One direction of an emulated path: a queue before a bottleneck that sends at one rate, then a
// delay, then loss. It says what leaves when; whoever uses it looks at the clock and moves bytes.
//
// Pure and seeded: the same packets at the same times leave at the same times. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "hairpin/base/bytes.h"
#include "hairpin/base/random.h"

namespace hairpin::wan {

using Time = std::chrono::nanoseconds;  // since the path was made

struct PipeSettings {
  Time delay{0};                  // from the last bit's departure to its arrival
  double bits_per_second = 0;     // 0: packets take no time
  std::uint64_t queue_bytes = 0;  // that may wait for the bottleneck; more is dropped
  double loss = 0;                // share of the packets, 0 to 1

  // An extra delay, uniform in [0, jitter), the same for all that depart within `jitter_hold` (0:
  // each packet its own). A packet waits for those before it, unless they may be reordered.
  Time jitter{0};
  Time jitter_hold{0};
  bool reorder = false;
};

struct PipeCounts {
  std::uint64_t packets = 0, bytes = 0;  // that came out
  std::uint64_t dropped = 0;             // packets that found the queue full
  std::uint64_t lost = 0;                // packets, by PipeSettings::loss
  std::uint64_t most_queued_bytes = 0;
};

class Pipe {
 public:
  Pipe(const PipeSettings& settings, std::uint64_t seed);

  // From now on. A packet that is being sent goes on at the old rate, one that has departed keeps
  // its delay; loss counts at once, also for what is under way.
  void change(const PipeSettings& settings, Time now);

  // Time never goes back from call to call.
  void push(Bytes packet, Time now);

  // When to call `pop` next; nothing: not before the next `push`.
  std::optional<Time> next() const;

  struct Out {
    Bytes packet;
    Time due{0};  // at or before the time of the call
  };
  // The next packet to come out until `now`, in order; nothing: no more. What is lost never does.
  std::optional<Out> pop(Time now);

  const PipeCounts& counts() const { return counts_; }

 private:
  struct Waiting {
    Bytes packet;
    Time came{0};
  };

  void transmit(Time now);
  void depart(Bytes packet, Time at);
  Time jitter(Time departure);

  PipeSettings settings_;
  const std::uint64_t seed_;
  Random losses_, jitters_;
  std::deque<Waiting> waiting_;  // for the bottleneck
  std::uint64_t waiting_bytes_ = 0;
  Time free_at_{0};         // the bottleneck is
  std::deque<Out> flying_;  // by due time
  std::int64_t slot_ = -1;  // of the jitter that is held
  double held_ = 0;
  PipeCounts counts_;
};

}  // namespace hairpin::wan
