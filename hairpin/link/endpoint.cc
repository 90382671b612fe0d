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

}  // namespace

Endpoint::Endpoint(wire::Role own) : own_(own) {}

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
    outgoing_.push_back(std::move(message));
  }
  wake();
  return {};
}

Result<wire::Message> Endpoint::receive() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || peer_goodbye_ || !incoming_.empty(); });
  if (incoming_.empty()) return tl::unexpected(ended_ ? *ended_ : session_over());
  auto received = std::move(incoming_.front());
  incoming_.pop_front();
  incoming_bytes_ -= received.frame_bytes;
  return std::move(received.message);
}

Result<void> Endpoint::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || (outgoing_.empty() && !writing_); });
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
  changed_.wait_for(lock, kTellPeer, [&] { return closed_ || (outgoing_.empty() && !writing_); });
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
    const bool writing_goodbye = own_goodbye_ && outgoing_.empty();
    lost_outgoing_ = lost_outgoing_ || (writing_ && !writing_goodbye);
    end_with(peer_goodbye_ ? session_over() : std::move(reason));
  }
  changed_.notify_all();
}

Error Endpoint::session_over() const {
  return {ErrorKind::link_lost, fmt::format("{} has ended the session", peer_name())};
}

bool Endpoint::deliver(wire::Message message, std::uint64_t frame_bytes) {
  const std::lock_guard lock(mutex_);
  ++received_.messages;
  received_.bytes += frame_bytes;
  if (ended_) return !std::holds_alternative<wire::Refusal>(message);
  if (std::holds_alternative<wire::Heartbeat>(message)) return true;
  if (const auto* refusal = std::get_if<wire::Refusal>(&message)) {
    const auto kind = refusal->exit_code == 4 ? ErrorKind::link_lost : ErrorKind::peer;
    end_with({kind, fmt::format("{} refused: {}", peer_name(), peer_text(refusal->reason))});
    return false;
  }
  peer_goodbye_ = std::holds_alternative<wire::Goodbye>(message);
  incoming_.push_back({std::move(message), frame_bytes});
  incoming_bytes_ += frame_bytes;
  changed_.notify_all();
  return !peer_goodbye_;
}

bool Endpoint::crowded() const {
  const std::lock_guard lock(mutex_);
  return !ended_ && incoming_bytes_ > kCrowdedFrames * max_frame_bytes_;
}

std::optional<wire::Message> Endpoint::next_to_send() {
  const std::lock_guard lock(mutex_);
  transport_thread_ = std::this_thread::get_id();
  if (outgoing_.empty() || closed_) return std::nullopt;
  auto message = std::move(outgoing_.front());
  outgoing_.pop_front();
  writing_ = true;
  return message;
}

void Endpoint::written(std::uint64_t frame_bytes) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  ++sent_.messages;
  sent_.bytes += frame_bytes;
  changed_.notify_all();
}

void Endpoint::not_written() {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  lost_outgoing_ = true;
  changed_.notify_all();
}

// Nothing more is written but a Refusal; a goodbye that comes too late is no loss.
void Endpoint::end_with(Error reason) {
  const bool refusing =
      !outgoing_.empty() && std::holds_alternative<wire::Refusal>(outgoing_.back());
  if (!refusing) {
    if (!outgoing_.empty() && std::holds_alternative<wire::Goodbye>(outgoing_.back()))
      outgoing_.pop_back();
    lost_outgoing_ = lost_outgoing_ || !outgoing_.empty();
    outgoing_.clear();
  }
  ended_ = std::move(reason);
  changed_.notify_all();
}

void Endpoint::queue_refusal(const Error& reason) {
  const bool goodbye_unsaid =
      !outgoing_.empty() && std::holds_alternative<wire::Goodbye>(outgoing_.back());
  lost_outgoing_ = true;
  outgoing_.clear();
  if ((!own_goodbye_ || goodbye_unsaid) && !closed_) outgoing_.push_back(refusal_for(reason, own_));
}

void Endpoint::set_wakeup(std::function<void()> wakeup) {
  const std::lock_guard lock(wakeup_mutex_);
  wakeup_ = std::move(wakeup);
}

void Endpoint::wake() {
  const std::lock_guard lock(wakeup_mutex_);
  if (wakeup_) wakeup_();
}

Traffic Endpoint::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

Traffic Endpoint::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void Endpoint::drain() {
  std::unique_lock lock(mutex_);
  const auto told = [&] { return closed_ || (outgoing_.empty() && !writing_); };
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
