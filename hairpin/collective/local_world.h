// What the groups of a LocalWorld have in common.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hairpin/collective/local.h"

namespace hairpin::collective {

class Meeting;

// Thread-safe; the hooks are set before other threads know of it.
struct LocalWorld::State {
  void fail(Error error);
  bool failed() const { return failed_; }
  std::optional<Error> error() const;
  void add(std::weak_ptr<Meeting> meeting);
  bool has_groups() const;

  SpanHook on_span;
  WorkerStartHook on_worker_start;

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::optional<Error> error_;
  bool has_groups_ = false;
  std::vector<std::weak_ptr<Meeting>> meetings_;
};

}  // namespace hairpin::collective
