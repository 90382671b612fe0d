// One end of a link without its transport: queues both ways, how the end came, and the traffic.
// The twins share it, so that they end, wake and refuse alike; a transport only moves frames.
//
// Thread-safe. Held by shared_ptr on both sides, so that a thread that waits in `receive` outlives
// the link it was called on.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hairpin/link/estimate.h"
#include "hairpin/link/link.h"
#include "hairpin/link/traffic.h"
#include "hairpin/wire/frame.h"
#include "hairpin/wire/reassembler.h"

namespace hairpin::link {

using TimeSource = std::function<Moment()>;

class Endpoint {
 public:
  explicit Endpoint(wire::Role own, TimeSource now = std::chrono::steady_clock::now);

  Moment now() const { return now_(); }
  wire::Role own() const { return own_; }
  wire::Role peer() const;
  std::string peer_name() const;  // "the edge"

  // For the program; link.h has the contract.
  Result<void> send(wire::Message message);
  Result<wire::Message> receive();
  Result<void> flush();
  void fail(Error reason);
  void set_max_frame_bytes(std::uint64_t bytes) { max_frame_bytes_ = bytes; }
  std::uint64_t max_frame_bytes() const { return max_frame_bytes_; }
  Traffic sent() const;
  Traffic received() const;
  LinkEstimate estimate() const;
  void watch(FrameObserver observer);
  // Before an end is destroyed: waits until what the peer must hear (everything up to a goodbye, or
  // a refusal for about a second) is written or the transport is gone.
  void drain();

  // For the transport.

  // Called from any thread when there is something new to send; null takes it away, and after that
  // returns it is not called again. It must not call back into the endpoint.
  void set_wakeup(std::function<void()> wakeup);
  // Queues one, unless one waits already, or the end or this side's goodbye has come. Nobody waits
  // for heartbeats.
  void queue_heartbeat();
  struct Outgoing {
    wire::Message message;
    Moment queued{};
    std::uint64_t controls = 0;  // so many of the control lane were queued before it
    std::uint64_t order = 0;     // of all
  };
  // The next message to write, of a lane or, in the order of sending, of both; each is followed by
  // one `written` or `not_written`, or by `close`. After a Goodbye or a Refusal there is nothing
  // more: a Goodbye is given out when nothing else waits, a Refusal can come while others are being
  // written, which are then given up.
  std::optional<Outgoing> next_to_send(wire::Lane lane);
  std::optional<Outgoing> next_to_send();
  // `first_byte`: when its first byte was handed over; its last one is now.
  void written(const Outgoing& outgoing, std::uint64_t frame_bytes, Moment first_byte);
  void not_written(const Outgoing& outgoing);
  // A message from the peer. False when it was the peer's last word, or when this side refused it.
  bool deliver(wire::Arrived arrived);
  // Whether a frame has begun to come and is not whole yet.
  void set_arriving(bool arriving);
  // Whether more has been delivered than the program has received, by some frames: a transport
  // that can make its peer wait stops reading, so that no peer can fill this side's memory. Control
  // has twice the room, so that it comes in while bulk waits.
  bool crowded(wire::Lane lane = wire::Lane::bulk) const;
  // The peer broke the protocol, or this side cannot go on: ends with `reason` once what was
  // delivered is received, and queues a Refusal. Returns at once.
  void refuse(Error reason);
  // The transport is gone. `reason` counts unless the end is already known; after the peer's
  // goodbye the end is orderly whatever the reason.
  void close(Error reason);
  bool ended() const;

 private:
  Error session_over() const;
  // Under mutex_.
  void end_with(Error reason);
  void queue_refusal(const Error& reason);
  void queue(wire::Message message);
  void clear_outgoing();
  bool all_written() const { return queued_ == 0 && in_flight_ == 0; }
  std::deque<Outgoing>& lane(wire::Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  std::optional<Outgoing> pop(std::deque<Outgoing>& lane);
  void leave_flight(const wire::Message& message);

  // Not under mutex_.
  void observe(const wire::Message& message, const FrameTimes& times);
  void wake();

  const wire::Role own_;
  const TimeSource now_;
  std::atomic<std::uint64_t> max_frame_bytes_{std::uint64_t{1} << 20};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct Received {
    wire::Message message;
    wire::Arrival arrival;
    Moment came;
  };
  std::array<std::deque<Outgoing>, 2> lanes_;
  std::uint64_t queued_ever_ = 0, controls_ever_ = 0;
  // Heartbeats apart:
  std::uint64_t queued_ = 0, in_flight_ = 0;  // waiting; taken and not written yet
  bool goodbye_in_flight_ = false;
  bool heartbeat_waiting_ = false;
  std::deque<Received> incoming_;
  std::uint64_t incoming_bytes_ = 0;
  std::optional<Error> ended_;
  bool closed_ = false;  // no transport any more
  bool own_goodbye_ = false;
  bool peer_goodbye_ = false;
  bool lost_outgoing_ = false;  // something queued was never written
  std::thread::id transport_thread_;
  TrafficMeter sent_, received_;
  bool arriving_ = false;
  Estimator estimator_;

  std::mutex wakeup_mutex_;
  std::function<void()> wakeup_;

  std::atomic<bool> watched_{false};  // a run that nobody watches takes no lock
  std::mutex observer_mutex_;
  FrameObserver observer_;
};

}  // namespace hairpin::link
