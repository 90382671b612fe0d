#include "tests/wan/pipe.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hairpin::wan {
namespace {

Time time_to_send(std::size_t bytes, double bits_per_second) {
  if (bits_per_second <= 0) return Time{0};
  return Time{std::llround(static_cast<double>(bytes) * 8e9 / bits_per_second)};
}

}  // namespace

Pipe::Pipe(const PipeSettings& settings, std::uint64_t seed)
    : settings_(settings),
      seed_(seed),
      losses_(derive_seed(seed, "loss")),
      jitters_(derive_seed(seed, "jitter")) {}

void Pipe::change(const PipeSettings& settings, Time now) {
  transmit(now);
  settings_ = settings;
  slot_ = -1;
}

void Pipe::push(Bytes packet, Time now) {
  transmit(now);
  const bool idle = waiting_.empty() && free_at_ <= now;
  if (!idle && waiting_bytes_ + packet.size() > settings_.queue_bytes) {
    ++counts_.dropped;
    return;
  }
  waiting_bytes_ += packet.size();
  waiting_.push_back({std::move(packet), now});
  transmit(now);
  counts_.most_queued_bytes = std::max(counts_.most_queued_bytes, waiting_bytes_);
}

// Hands over to the bottleneck what it has begun to send until now.
void Pipe::transmit(Time now) {
  while (!waiting_.empty() && free_at_ <= now) {
    auto [packet, came] = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= packet.size();
    free_at_ = std::max(free_at_, came) + time_to_send(packet.size(), settings_.bits_per_second);
    depart(std::move(packet), free_at_);
  }
}

void Pipe::depart(Bytes packet, Time at) {
  Time due = at + settings_.delay + jitter(at);
  if (!settings_.reorder && !flying_.empty()) due = std::max(due, flying_.back().due);
  const auto place = std::ranges::upper_bound(flying_, due, {}, &Out::due);
  flying_.insert(place, {std::move(packet), due});
}

Time Pipe::jitter(Time departure) {
  if (settings_.jitter.count() == 0) return Time{0};
  const auto most = static_cast<double>(settings_.jitter.count());
  if (settings_.jitter_hold.count() == 0)
    return Time{static_cast<std::int64_t>(jitters_.unit() * most)};
  // Of a slot of time, not of a count of packets: the path's own, whatever is sent.
  const auto slot = departure / settings_.jitter_hold;
  if (std::exchange(slot_, slot) != slot)
    held_ = Random(derive_seed(seed_, "held jitter", static_cast<std::uint64_t>(slot))).unit();
  return Time{static_cast<std::int64_t>(held_ * most)};
}

std::optional<Time> Pipe::next() const {
  std::optional<Time> at;
  if (!flying_.empty()) at = flying_.front().due;
  // In order, what is still waiting comes after all that flies.
  const bool may_be_first = flying_.empty() || settings_.reorder;
  if (!waiting_.empty() && may_be_first) at = at ? std::min(*at, free_at_) : free_at_;
  return at;
}

std::optional<Pipe::Out> Pipe::pop(Time now) {
  transmit(now);
  while (!flying_.empty() && flying_.front().due <= now) {
    auto out = std::move(flying_.front());
    flying_.pop_front();
    if (losses_.unit() < settings_.loss) {
      ++counts_.lost;
      continue;
    }
    ++counts_.packets;
    counts_.bytes += out.packet.size();
    return out;
  }
  return std::nullopt;
}

}  // namespace hairpin::wan
