#include "hairpin/link/estimate.h"

#include <algorithm>

namespace hairpin::link {
namespace {

constexpr std::size_t kLastRtts = 8;

}  // namespace

void RateMeter::add(std::uint64_t bytes, std::chrono::nanoseconds time) {
  if (bytes == 0 || time.count() <= 0) return;
  pending_.bytes += bytes;
  pending_.time += time;
  if (pending_.bytes < kSampleBytes) return;
  last_.push_back(pending_);
  sum_.bytes += pending_.bytes;
  sum_.time += pending_.time;
  pending_ = {};
  ++samples_;
  if (last_.size() <= kSamples) return;
  sum_.bytes -= last_.front().bytes;
  sum_.time -= last_.front().time;
  last_.pop_front();
}

double RateMeter::bytes_per_second() const {
  if (last_.empty()) return 0;
  return static_cast<double>(sum_.bytes) / std::chrono::duration<double>(sum_.time).count();
}

std::uint64_t Estimator::since_start(Moment moment) const {
  const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(moment - start_);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(passed.count(), 0)) + 1;
}

wire::Heartbeat Estimator::heartbeat(Moment now) {
  wire::Heartbeat heartbeat{.sequence = heartbeats_++, .sent = since_start(now)};
  last_sent_ = heartbeat.sent;
  if (to_echo_ != 0) {
    heartbeat.echo = to_echo_;
    heartbeat.held = since_start(now) - since_start(to_echo_came_);
  }
  heartbeat.received_rate = static_cast<std::uint64_t>(received_.bytes_per_second());
  heartbeat.rate_samples = received_.samples();
  return heartbeat;
}

Result<void> Estimator::came(const wire::Heartbeat& heartbeat, Moment now) {
  if (heartbeat.echo > last_sent_)
    return fail(
        ErrorKind::peer,
        "the peer echoes a heartbeat of microsecond {} and the last was sent at {}; install "
        "the same release of Hairpin on both sites",
        heartbeat.echo, last_sent_);
  to_echo_ = heartbeat.sent;
  to_echo_came_ = now;
  sent_rate_ = static_cast<double>(heartbeat.received_rate);
  sent_samples_ = heartbeat.rate_samples;
  if (heartbeat.echo == 0) return {};
  // Two clocks that run at different speeds can make a short round trip negative.
  const auto away = since_start(now) - std::min(heartbeat.echo, since_start(now));
  const double rtt = static_cast<double>(away - std::min(heartbeat.held, away)) * 1e-6;
  rtt_ = rtt_samples_ == 0 ? rtt : rtt_ + (rtt - rtt_) / 8;
  last_rtts_.push_back(rtt);
  if (last_rtts_.size() > kLastRtts) last_rtts_.pop_front();
  ++rtt_samples_;
  return {};
}

void Estimator::came(const wire::Arrival& arrival) {
  received_.add(arrival.bytes_after, arrival.ended - arrival.measured_from);
}

LinkEstimate Estimator::estimate() const {
  LinkEstimate estimate{.rtt_seconds = rtt_, .rtt_samples = rtt_samples_};
  if (!last_rtts_.empty())
    estimate.min_rtt_seconds = *std::min_element(last_rtts_.begin(), last_rtts_.end());
  const bool edge = own_ == wire::Role::edge;
  (edge ? estimate.down_bytes_per_second : estimate.up_bytes_per_second) =
      received_.bytes_per_second();
  (edge ? estimate.down_samples : estimate.up_samples) = received_.samples();
  (edge ? estimate.up_bytes_per_second : estimate.down_bytes_per_second) = sent_rate_;
  (edge ? estimate.up_samples : estimate.down_samples) = sent_samples_;
  return estimate;
}

}  // namespace hairpin::link
