#include "hairpin/link/endpoint.h"

#include <chrono>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/link/peer_text.h"

namespace hairpin::link {
namespace {

constexpr auto kTellPeer = std::chrono::milliseconds(1000);
constexpr std::uint64_t kCrowdedFrames = 4;  // of the greatest size, not yet received

// What the peer is told. An error about this side's own files or data may quote them, so it stays
// here: the peer only learns that there was one.
wire::Refusal refusal_for(const Error& reason, wire::Role own) {
  const std::uint8_t exit_code = reason.kind == ErrorKind::link_lost ? 4 : 3;
  if (reason.kind == ErrorKind::peer || reason.kind == ErrorKind::link_lost)
    return {exit_code, reason.message};
  return {exit_code,
          fmt::format("the {} stopped because of an error of its own; its log says which",
                      wire::role_name(own))};
}

bool is_heartbeat(const wire::Message& message) {
  return std::holds_alternative<wire::Heartbeat>(message);
}

}  // namespace

Endpoint::Endpoint(wire::Role own, TimeSource now)
    : own_(own), now_(std::move(now)), sent_(now_()), received_(now_()), estimator_(own, now_()) {}

wire::Role Endpoint::peer() const {
  return own_ == wire::Role::edge ? wire::Role::cloud : wire::Role::edge;
}

std::string Endpoint::peer_name() const { return fmt::format("the {}", wire::role_name(peer())); }

Result<void> Endpoint::send(wire::Message message) {
  {
    const std::lock_guard lock(mutex_);
    const bool goodbye = std::holds_alternative<wire::Goodbye>(message);
    if (ended_) {
      if (goodbye && peer_goodbye_) return {};  // both have said it: nobody is left to tell
      return tl::unexpected(*ended_);
    }
    HAIRPIN_CHECK(!own_goodbye_, "a {} message after this side's goodbye",
                  wire::message_name(message));
    own_goodbye_ = goodbye;
    queue(std::move(message));
  }
  wake();
  return {};
}

void Endpoint::queue_heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || own_goodbye_ || closed_ || heartbeat_waiting_) return;
    heartbeat_waiting_ = true;
    queue(wire::Heartbeat{});
  }
  wake();
}

void Endpoint::queue(wire::Message message) {
  const auto now = now_();
  const auto of = wire::lane_of(message);
  if (!is_heartbeat(message)) ++queued_;
  lane(of).push_back({std::move(message), now, controls_ever_, queued_ever_++});
  if (of == wire::Lane::control) ++controls_ever_;
  sent_.begin(now);
}

Result<wire::Message> Endpoint::receive() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || peer_goodbye_ || !incoming_.empty(); });
  if (incoming_.empty()) return tl::unexpected(ended_ ? *ended_ : session_over());
  auto received = std::move(incoming_.front());
  incoming_.pop_front();
  const auto& arrival = received.arrival;
  incoming_bytes_ -= arrival.frame_bytes;
  const auto queueing = now_() - received.came;
  received_.count_queueing(queueing);
  lock.unlock();
  observe(received.message, {.sent = false,
                             .bytes = arrival.frame_bytes,
                             .began = arrival.began,
                             .ended = arrival.ended,
                             .queueing = queueing});
  return std::move(received.message);
}

Result<void> Endpoint::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || all_written(); });
  if (ended_ && !(peer_goodbye_ && !lost_outgoing_)) return tl::unexpected(*ended_);
  return {};
}

void Endpoint::fail(Error reason) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    incoming_.clear();
    incoming_bytes_ = 0;
    queue_refusal(reason);
    end_with(std::move(reason));
  }
  wake();
  std::unique_lock lock(mutex_);
  if (transport_thread_ == std::this_thread::get_id()) return;  // it cannot wait for itself
  changed_.wait_for(lock, kTellPeer, [&] { return closed_ || all_written(); });
}

void Endpoint::refuse(Error reason) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    queue_refusal(reason);
    end_with(std::move(reason));
  }
  wake();
}

void Endpoint::close(Error reason) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (!ended_) {
    lost_outgoing_ = lost_outgoing_ || in_flight_ > (goodbye_in_flight_ ? 1U : 0U);
    end_with(peer_goodbye_ ? session_over() : std::move(reason));
  }
  changed_.notify_all();
}

Error Endpoint::session_over() const {
  return {ErrorKind::link_lost, fmt::format("{} has ended the session", peer_name())};
}

bool Endpoint::deliver(wire::Arrived arrived) {
  auto& [message, arrival] = arrived;
  std::unique_lock lock(mutex_);
  received_.count_frame(arrival.frame_bytes, arrival.ended - arrival.began);
  estimator_.came(arrival);
  if (ended_) return !std::holds_alternative<wire::Refusal>(message);
  if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&message)) {
    auto plausible = estimator_.came(*heartbeat, now_());
    lock.unlock();
    if (!plausible) refuse(std::move(plausible).error());
    return plausible.has_value();
  }
  if (const auto* refusal = std::get_if<wire::Refusal>(&message)) {
    const auto kind = refusal->exit_code == 4 ? ErrorKind::link_lost : ErrorKind::peer;
    end_with({kind, fmt::format("{} refused: {}", peer_name(), peer_text(refusal->reason))});
    return false;
  }
  peer_goodbye_ = std::holds_alternative<wire::Goodbye>(message);
  incoming_.push_back({std::move(message), arrival, now_()});
  incoming_bytes_ += arrival.frame_bytes;
  changed_.notify_all();
  return !peer_goodbye_;
}

void Endpoint::set_arriving(bool arriving) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(arriving_, arriving) == arriving) return;
  arriving ? received_.begin(now_()) : received_.end(now_());
}

bool Endpoint::crowded(wire::Lane lane) const {
  const std::lock_guard lock(mutex_);
  const auto frames = lane == wire::Lane::bulk ? kCrowdedFrames : 2 * kCrowdedFrames;
  return !ended_ && incoming_bytes_ > frames * max_frame_bytes_;
}

std::optional<Endpoint::Outgoing> Endpoint::next_to_send(wire::Lane of) {
  const std::lock_guard lock(mutex_);
  const auto& control = lane(wire::Lane::control);
  auto& taken = lane(of);
  const bool goodbye =
      !taken.empty() && std::holds_alternative<wire::Goodbye>(taken.front().message);
  if (goodbye && !control.empty()) return std::nullopt;
  return pop(taken);
}

std::optional<Endpoint::Outgoing> Endpoint::next_to_send() {
  const std::lock_guard lock(mutex_);
  auto& control = lane(wire::Lane::control);
  auto& bulk = lane(wire::Lane::bulk);
  const bool control_first =
      bulk.empty() || (!control.empty() && control.front().order < bulk.front().order);
  return pop(control_first ? control : bulk);
}

std::optional<Endpoint::Outgoing> Endpoint::pop(std::deque<Outgoing>& lane) {
  transport_thread_ = std::this_thread::get_id();
  if (lane.empty() || closed_) return std::nullopt;
  auto outgoing = std::move(lane.front());
  lane.pop_front();
  if (is_heartbeat(outgoing.message)) {
    outgoing.message = estimator_.heartbeat(now_());
    heartbeat_waiting_ = false;
  } else {
    --queued_;
    ++in_flight_;
    goodbye_in_flight_ = std::holds_alternative<wire::Goodbye>(outgoing.message);
  }
  return outgoing;
}

void Endpoint::written(const Outgoing& outgoing, std::uint64_t frame_bytes, Moment first_byte) {
  FrameTimes times{.sent = true,
                   .bytes = frame_bytes,
                   .began = first_byte,
                   .ended = {},
                   .queueing = first_byte - outgoing.queued};
  {
    const std::lock_guard lock(mutex_);
    times.ended = now_();
    sent_.count_queueing(times.queueing);
    sent_.count_frame(frame_bytes, times.ended - first_byte);
  }
  if (!is_heartbeat(outgoing.message)) observe(outgoing.message, times);  // before a flush returns
  const std::lock_guard lock(mutex_);
  leave_flight(outgoing.message);
}

void Endpoint::not_written(const Outgoing& outgoing) {
  const std::lock_guard lock(mutex_);
  if (!is_heartbeat(outgoing.message)) lost_outgoing_ = true;
  leave_flight(outgoing.message);
}

void Endpoint::leave_flight(const wire::Message& message) {
  if (!is_heartbeat(message)) --in_flight_;
  sent_.end(now_());
  changed_.notify_all();
}

// Nothing more is written but a Refusal; a goodbye that comes too late is no loss.
void Endpoint::end_with(Error reason) {
  const auto& control = lane(wire::Lane::control);
  const bool refusing =
      !control.empty() && std::holds_alternative<wire::Refusal>(control.back().message);
  if (!refusing) {
    const bool goodbye_unsaid = own_goodbye_ && !goodbye_in_flight_;
    lost_outgoing_ = lost_outgoing_ || queued_ > (goodbye_unsaid ? 1U : 0U);
    clear_outgoing();
  }
  ended_ = std::move(reason);
  changed_.notify_all();
}

void Endpoint::queue_refusal(const Error& reason) {
  const auto& bulk = lane(wire::Lane::bulk);
  const bool goodbye_unsaid =
      !bulk.empty() && std::holds_alternative<wire::Goodbye>(bulk.back().message);
  lost_outgoing_ = true;
  clear_outgoing();
  if ((!own_goodbye_ || goodbye_unsaid) && !closed_) queue(refusal_for(reason, own_));
}

void Endpoint::clear_outgoing() {
  for (auto& lane : lanes_) {
    for (std::size_t i = 0; i < lane.size(); ++i) sent_.end(now_());
    lane.clear();
  }
  queued_ = 0;
}

void Endpoint::set_wakeup(std::function<void()> wakeup) {
  const std::lock_guard lock(wakeup_mutex_);
  wakeup_ = std::move(wakeup);
}

void Endpoint::wake() {
  const std::lock_guard lock(wakeup_mutex_);
  if (wakeup_) wakeup_();
}

void Endpoint::watch(FrameObserver observer) {
  const std::lock_guard lock(observer_mutex_);
  observer_ = std::move(observer);
  watched_ = observer_ != nullptr;
}

void Endpoint::observe(const wire::Message& message, const FrameTimes& times) {
  if (!watched_) return;
  const std::lock_guard lock(observer_mutex_);
  if (observer_) observer_(message, times);
}

Traffic Endpoint::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_.at(now_());
}

Traffic Endpoint::received() const {
  const std::lock_guard lock(mutex_);
  return received_.at(now_());
}

LinkEstimate Endpoint::estimate() const {
  const std::lock_guard lock(mutex_);
  return estimator_.estimate();
}

void Endpoint::drain() {
  std::unique_lock lock(mutex_);
  const auto told = [&] { return closed_ || all_written(); };
  if (ended_) {
    changed_.wait_for(lock, kTellPeer, told);
  } else if (own_goodbye_) {
    changed_.wait(lock, told);
  }
}

bool Endpoint::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_.has_value();
}

}  // namespace hairpin::link
