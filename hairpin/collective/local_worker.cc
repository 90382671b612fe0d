#include "hairpin/collective/local_worker.h"

#include <exception>
#include <optional>
#include <utility>

namespace hairpin::collective {

class LocalWorker::Queued : public Work::State {
 public:
  Queued(std::shared_ptr<LocalMember> member, Operation call)
      : member_(std::move(member)), call_(std::move(call)) {}

  // On the worker's thread. An Aborted is kept as its Error, so that no exception object is shared
  // by two threads.
  void execute() {
    std::optional<Error> aborted;
    std::exception_ptr thrown;
    try {
      member_->execute(call_, true);
    } catch (const Aborted& end) {
      aborted = end.error();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    aborted_ = std::move(aborted);
    thrown_ = std::move(thrown);
    done_ = true;
    ended_.notify_all();
  }

  void wait() override {
    std::unique_lock lock(mutex_);
    if (!done_) {
      const auto begin = LocalMember::Clock::now();
      ended_.wait(lock, [this] { return done_; });
      member_->waited(call_.kind, begin);
    }
    if (aborted_) throw Aborted(*aborted_);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  bool done() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  void abandon() noexcept override { member_->abandon(); }

 private:
  const std::shared_ptr<LocalMember> member_;
  const Operation call_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::optional<Error> aborted_;
  std::exception_ptr thrown_;
};

LocalWorker::LocalWorker(std::shared_ptr<LocalMember> member, std::function<void()> at_start)
    : member_(std::move(member)) {
  thread_ = std::thread([this, at_start = std::move(at_start)] {
    if (at_start) at_start();
    run();
  });
}

LocalWorker::~LocalWorker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  added_.notify_all();
  thread_.join();
}

std::shared_ptr<Work::State> LocalWorker::add(Operation call) {
  auto queued = std::make_shared<Queued>(member_, std::move(call));
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(queued);
  }
  added_.notify_all();
  return queued;
}

bool LocalWorker::idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty();
}

void LocalWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto first = queue_.front();
    lock.unlock();
    first->execute();
    lock.lock();
    queue_.pop_front();
  }
}

}  // namespace hairpin::collective
