// A batcher that works ahead in a thread of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "hairpin/samples/dataset.h"

namespace hairpin::samples {

// Serves what a Batcher of the same dataset and options serves, in the same order, with at most
// `depth` microbatches made ahead. `next` waits for the thread where it is not ahead; it may be
// called from one thread at a time. The destructor stops the thread. `dataset` must outlive it.
class PrefetchingBatcher {
 public:
  PrefetchingBatcher(const Dataset& dataset, BatchOptions options, std::size_t depth = 4);
  Microbatch next();  // rethrows what the thread threw

 private:
  void work(std::stop_token stop);

  Batcher batcher_;  // the thread's
  const std::size_t depth_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Microbatch> ready_;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it stops before the rest goes
};

}  // namespace hairpin::samples
