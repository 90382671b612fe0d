// Encodes tensors for the link on a thread of its own, so that a rank's compute thread goes from
// one op to the next: a send costs it a place in a queue.
//
// The queue has no bound of its own and needs none, so that no send ever waits: of a microbatch
// that is in flight at the edge (from its FS to the end of its BE) at most one tensor is here, on
// either site, since the next one is made from what the peer answered to it; of any other there is
// none. The schedule's in-flight peak at the edge bounds them all.
//
// Tensors are read here while the rank that made them may still read them; nobody writes to them
// any more (Channel::send), and the queue's lock orders their making before the reading. LibTorch
// computes nothing here with contiguous tensors, so that no OpenMP team starts beside the ranks'.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/tensor.h"
#include "hairpin/wire/message.h"

namespace hairpin::pipeline {

// Thread-safe.
class Encoder {
 public:
  // Both are called by the encoder's thread and may call the encoder. `send` gets whole messages in
  // the order of `put`; when it fails, or it or encoding throws, `failed` is told, once. What has
  // to be allocated is charged to `meter` (null: not counted) as the link's.
  Encoder(std::function<Result<void>(wire::TensorMessage)> send, std::function<void(Error)> failed,
          MemoryMeter* meter);
  ~Encoder();  // what waits is dropped

  // Queues a message whose payload the rows of `shares`, one after the other, will be, in
  // `message.codec`; returns at once. After a failure: its error.
  Result<void> put(wire::TensorMessage message, std::vector<Tensor> shares);

  // Waits until all that was put has been sent. Not for the encoder's own thread.
  Result<void> flush();

  // Drops what waits and ends all present and later calls with `error`; the first one stays.
  void fail(Error error);

 private:
  struct Waiting {
    wire::TensorMessage message;
    std::vector<Tensor> shares;
  };
  void loop();
  std::optional<Waiting> next();
  Result<void> encode_and_send(Waiting waiting);

  const std::function<Result<void>(wire::TensorMessage)> send_;
  const std::function<void(Error)> failed_;
  MemoryMeter* const meter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  bool busy_ = false;  // with one that is no longer in the queue
  bool ended_ = false;
  std::optional<Error> error_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace hairpin::pipeline
