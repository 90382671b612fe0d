// The thread that carries out a rank's asynchronous operations on one group, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "hairpin/collective/local_member.h"

namespace hairpin::collective {

// Used by the rank's thread.
class LocalWorker {
 public:
  // `at_start` (may be empty) runs first on the worker's thread.
  LocalWorker(std::shared_ptr<LocalMember> member, std::function<void()> at_start);
  // Carries out what is queued, then ends.
  ~LocalWorker();

  std::shared_ptr<Work::State> add(Operation call);
  // Everything added is done.
  bool idle() const;

 private:
  class Queued;

  void run();

  const std::shared_ptr<LocalMember> member_;
  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::shared_ptr<Queued>> queue_;  // the first is being carried out
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace hairpin::collective
