// A site's side of the link while training: receives ahead on a thread of its own, proves what
// arrives, and sorts it to where it is waited for; encodes what leaves on another. Once anything is
// wrong, everything that waits here ends with that one error, and the peer is told. Messages other
// than tensors that arrived before are still given out: after a step's scalars both sites come to
// the same end of the step by themselves, even where the peer comes to it first and says so.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/codec/choice.h"
#include "hairpin/link/link.h"
#include "hairpin/pipeline/encoder.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/wire/message.h"

namespace hairpin::pipeline {

struct SessionOptions {
  wire::Role role = wire::Role::edge;
  codec::Choice codecs;
  // Tensors the peer may send: (kind, boundary), of these domains and microbatches.
  std::set<std::pair<wire::TensorKind, int>> expected;
  int domains = 1;
  int microbatches = 1;  // per domain
  std::int64_t hidden = 0;
  std::int64_t max_tokens = 0;  // of one microbatch
  // This site's ranks that each arriving tensor goes to: all of it to each, or with sequence
  // parallelism its share of the rows.
  int tensor_parallel = 1;
  bool sequence_parallel = false;
  // Tensors waiting in the mailbox for tensor-parallel rank 0, those between local ranks included:
  // a microbatch has one such tensor under way on a site, so that the schedule's in-flight peak
  // bounds both together.
  std::size_t max_waiting = 0;
  // What tensors are charged to that come from the peer: the site's rank 0, which stands for the
  // link, whatever ranks they are for. Outlives the session; null: they are not counted.
  MemoryMeter* meter = nullptr;
};

// Thread-safe.
class LinkSession {
 public:
  // `link` has passed the handshake; it and `mailbox` must outlive the session. `mailbox` receives
  // the peer's tensors and shares the session's end.
  LinkSession(link::Link& link, Mailbox& mailbox, SessionOptions options);
  ~LinkSession();  // ends both threads, failing the link if it is still open

  // Bulk (wire/frame.h) leaves after all tensors that were sent before it; control doesn't wait.
  Result<void> send(wire::Message message);
  // `shares`, one after the other, are the rows of the tensor [tokens, hidden]; nobody may write to
  // them any more. Returns at once: it is encoded on a thread of the session (encoder.h). What goes
  // wrong there ends the session.
  Result<void> send_tensor(const Tag& tag, std::vector<Tensor> shares);
  // Waits until all that was sent has been handed to the transport (or the link has failed).
  Result<void> flush();

  // Each waits for the next message of its kind.
  Result<wire::Manifest> next_manifest();
  Result<wire::StepScalars> next_scalars();
  Result<wire::StepTimes> next_times();
  // WeightsRequest, WeightsManifest, WeightsChunk or Goodbye.
  Result<wire::Message> next_control();

  // Ends everything with `error` and tells the peer.
  void fail(Error error);

  // What it has ended with, if anything.
  std::optional<Error> error() const;

  const SessionOptions& options() const { return options_; }
  link::Link& link() { return link_; }

 private:
  template <class T>
  Result<T> pop(std::deque<T>& queue);
  void receive_loop();
  Result<void> route(wire::Message message);
  Result<void> accept_tensor(const wire::TensorMessage& message);
  bool fan_out(Tag tag, const Tensor& tensor);

  link::Link& link_;
  Mailbox& mailbox_;
  const SessionOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<wire::Manifest> manifests_;
  std::deque<wire::StepScalars> scalars_;
  std::deque<wire::StepTimes> times_;
  std::deque<wire::Message> control_;
  std::optional<Error> error_;
  bool weights_asked_ = false;  // by this side: what comes now are weights
  bool closed_ = false;         // the peer said goodbye
  Encoder encoder_;             // its thread uses all of the above
  std::jthread receiver_;       // and so does this, and the encoder
};

}  // namespace hairpin::pipeline
