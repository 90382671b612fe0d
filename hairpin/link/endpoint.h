// One end of a link without its transport: queues both ways, how the end came, and the traffic.
// The twins share it, so that they end, wake and refuse alike; a transport only moves frames.
//
// Thread-safe. Held by shared_ptr on both sides, so that a thread that waits in `receive` outlives
// the link it was called on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hairpin/link/link.h"

namespace hairpin::link {

class Endpoint {
 public:
  explicit Endpoint(wire::Role own);

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
  // Before an end is destroyed: waits until what the peer must hear (everything up to a goodbye, or
  // a refusal for about a second) is written or the transport is gone.
  void drain();

  // For the transport.

  // Called from any thread when there is something new to send; null takes it away, and after that
  // returns it is not called again. It must not call back into the endpoint.
  void set_wakeup(std::function<void()> wakeup);
  // The next message to write; each is followed by one `written` or `not_written`, or by `close`.
  // After a Goodbye or a Refusal there is nothing more.
  std::optional<wire::Message> next_to_send();
  void written(std::uint64_t frame_bytes);
  void not_written();
  // A message from the peer. False when it was the peer's last word.
  bool deliver(wire::Message message, std::uint64_t frame_bytes);
  // Whether more has been delivered than the program has received, by some frames: a transport
  // that can make its peer wait stops reading, so that no peer can fill this side's memory.
  bool crowded() const;
  // The peer broke the protocol, or this side cannot go on: ends with `reason` once what was
  // delivered is received, and queues a Refusal. Returns at once.
  void refuse(Error reason);
  // The transport is gone. `reason` counts unless the end is already known; after the peer's
  // goodbye the end is orderly whatever the reason.
  void close(Error reason);
  bool ended() const;

 private:
  Error session_over() const;
  void end_with(Error reason);  // under mutex_
  void queue_refusal(const Error& reason);
  void wake();

  const wire::Role own_;
  std::atomic<std::uint64_t> max_frame_bytes_{std::uint64_t{1} << 20};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct Received {
    wire::Message message;
    std::uint64_t frame_bytes;
  };
  std::deque<wire::Message> outgoing_;
  std::deque<Received> incoming_;
  std::uint64_t incoming_bytes_ = 0;
  std::optional<Error> ended_;
  bool writing_ = false;  // a message was taken and is not written yet
  bool closed_ = false;   // no transport any more
  bool own_goodbye_ = false;
  bool peer_goodbye_ = false;
  bool lost_outgoing_ = false;  // something queued was never written
  std::thread::id transport_thread_;
  Traffic sent_, received_;

  std::mutex wakeup_mutex_;
  std::function<void()> wakeup_;
};

}  // namespace hairpin::link
