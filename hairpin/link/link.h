// The one narrow channel between edge and cloud: whole messages, in order, both ways.
//
// Implementations are twins that pass one conformance test: `tls_link.h` (mutual TLS 1.3 over a
// few TCP connections) and `memory_link.h` (two ends in one process, with injected delay, reordered
// completion and cuts).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "hairpin/base/result.h"
#include "hairpin/link/estimate.h"
#include "hairpin/link/traffic.h"
#include "hairpin/wire/message.h"

namespace hairpin::link {

// Called for each frame just before it is handed to the transport, on an I/O thread.
using SentObserver = std::function<void(const wire::Message&, std::uint64_t frame_bytes)>;

// How a frame went.
struct FrameTimes {
  bool sent = false;                     // else received
  std::uint64_t bytes = 0;               // of the frame
  Moment began{}, ended{};               // its first byte and its last, as Traffic's transfer
  std::chrono::nanoseconds queueing{0};  // as Traffic's
};

// Called for each frame but heartbeats: a sent one after its last byte was handed over, a received
// one when the program takes it. On any thread, one call at a time; it must not throw, nor call the
// link.
using FrameObserver = std::function<void(const wire::Message&, const FrameTimes&)>;

// All members may be called from any thread.
class Link {
 public:
  virtual ~Link() = default;

  // Queues a message and returns at once. After the link has failed: the failure.
  virtual Result<void> send(wire::Message message) = 0;

  // The next message from the peer. A message of the bulk lane (wire/frame.h) comes after all that
  // were sent before it; one of the control lane may come before bulk that was sent earlier.
  // Heartbeats are not delivered. Blocks until one arrives or the link ends. A `Goodbye` is
  // delivered as the message it is; a peer's `Refusal`, a timeout and a broken connection are
  // errors, with the kind to exit with.
  virtual Result<wire::Message> receive() = 0;

  // Ends the link from this side: wakes every caller with `reason`, tells the peer (as a Refusal
  // carrying exit code and sentence) as far as that is still possible, within about a second.
  virtual void fail(Error reason) = 0;

  // Waits until everything queued has been handed to the transport (or the link has failed).
  virtual Result<void> flush() = 0;

  // Raises the bound on received frames after the contract is known; before: 1 MiB.
  virtual void set_max_frame_bytes(std::uint64_t bytes) = 0;

  virtual Traffic sent() const = 0;
  virtual Traffic received() const = 0;

  // What was measured so far, from heartbeats and from what has arrived.
  virtual LinkEstimate estimate() const = 0;

  // From now on `observer` is told of frames, in place of the one before; null: nobody is, and none
  // is being told any more when this returns. A link that doesn't know ignores it.
  virtual void watch(FrameObserver) {}
};

}  // namespace hairpin::link
