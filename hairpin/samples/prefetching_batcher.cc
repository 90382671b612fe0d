#include "hairpin/samples/prefetching_batcher.h"

#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::samples {

PrefetchingBatcher::PrefetchingBatcher(const Dataset& dataset, BatchOptions options,
                                       std::size_t depth)
    : batcher_(dataset, options), depth_(depth) {
  HAIRPIN_CHECK(depth >= 1, "a prefetch depth of 0 would never serve anything");
  thread_ = std::jthread([this](std::stop_token stop) { work(std::move(stop)); });
}

Microbatch PrefetchingBatcher::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || !ready_.empty(); });
  if (ready_.empty()) std::rethrow_exception(failure_);
  Microbatch first = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return first;
}

void PrefetchingBatcher::work(std::stop_token stop) {
  try {
    for (;;) {
      Microbatch made = batcher_.next();
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return ready_.size() < depth_; }) ||
          stop.stop_requested())
        return;
      ready_.push_back(std::move(made));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace hairpin::samples
