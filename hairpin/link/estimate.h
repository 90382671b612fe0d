// What a link measures about itself while it is used: heartbeats carry an echo, which gives the
// round trip, and what arrives tells the bandwidth. docs/protocol.md, "Measuring".
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "hairpin/base/result.h"
#include "hairpin/link/traffic.h"
#include "hairpin/wire/message.h"
#include "hairpin/wire/reassembler.h"

namespace hairpin::link {

// Both sites see nearly the same, but not to the bit: what must be equal on both, they agree on.
// Up is edge to cloud. A number without samples is 0.
struct LinkEstimate {
  double rtt_seconds = 0;      // smoothed: 7/8 of the old and 1/8 of the new (RFC 6298, 2.3)
  double min_rtt_seconds = 0;  // of the last 8 samples: without what queued now and then
  std::uint64_t rtt_samples = 0;
  // Over the last samples, as the receiver saw them: what a sender with enough to send achieves.
  double up_bytes_per_second = 0;
  double down_bytes_per_second = 0;
  std::uint64_t up_samples = 0;
  std::uint64_t down_samples = 0;
};

// Bytes per second of what arrives. A sample is at least kSampleBytes, of one frame or several.
class RateMeter {
 public:
  static constexpr std::uint64_t kSampleBytes = std::uint64_t{64} << 10;
  static constexpr std::size_t kSamples = 16;  // that count

  void add(std::uint64_t bytes, std::chrono::nanoseconds time);
  double bytes_per_second() const;
  std::uint64_t samples() const { return samples_; }

 private:
  struct Sample {
    std::uint64_t bytes = 0;
    std::chrono::nanoseconds time{0};
  };
  Sample pending_, sum_;
  std::deque<Sample> last_;
  std::uint64_t samples_ = 0;
};

// One side's. Not thread-safe; moments are of one clock that never goes back.
class Estimator {
 public:
  Estimator(wire::Role own, Moment start) : own_(own), start_(start) {}

  // What to send now.
  wire::Heartbeat heartbeat(Moment now);
  // A heartbeat that came. One that echoes what was never sent is refused: ErrorKind::peer.
  Result<void> came(const wire::Heartbeat& heartbeat, Moment now);
  void came(const wire::Arrival& arrival);

  LinkEstimate estimate() const;

 private:
  std::uint64_t since_start(Moment moment) const;  // microseconds, at least 1

  const wire::Role own_;
  const Moment start_;
  std::uint64_t heartbeats_ = 0;
  std::uint64_t last_sent_ = 0;
  std::uint64_t to_echo_ = 0;  // the peer's time of its last heartbeat
  Moment to_echo_came_{};
  double rtt_ = 0;
  std::deque<double> last_rtts_;
  std::uint64_t rtt_samples_ = 0;
  RateMeter received_;
  double sent_rate_ = 0;  // as the peer says
  std::uint64_t sent_samples_ = 0;
};

}  // namespace hairpin::link
