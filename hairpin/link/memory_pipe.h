// One direction of the in-memory link: a thread that takes messages from one end's endpoint and
// puts them into the other's when they are due. Used by memory_link.cc only.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

#include "hairpin/base/random.h"
#include "hairpin/link/endpoint.h"

namespace hairpin::link {

struct PipeOptions {
  std::chrono::microseconds delay{0}, jitter{0};
  bool reorder = false;
  std::uint64_t seed = 0;
  SentObserver sent;
  // Asked for each message: whether the link still stands. Called on the pipe's thread.
  std::function<bool()> may_pass;
};

class MemoryPipe {
 public:
  MemoryPipe(PipeOptions options, std::shared_ptr<Endpoint> source,
             std::shared_ptr<Endpoint> target);
  ~MemoryPipe();  // what is on its way is lost

  // The source's end was destroyed: after what is on its way, the target learns of it.
  void source_gone();

 private:
  using Clock = std::chrono::steady_clock;
  struct Flight {
    Clock::time_point due;
    Bytes frame;
  };

  void run();
  bool wait_for_work();  // false: stop
  void take_messages();
  void deliver_due();
  void deliver(const Bytes& frame);
  Clock::time_point due_time(const wire::Message& message);

  PipeOptions options_;
  const std::shared_ptr<Endpoint> source_, target_;

  // The pipe's thread only.
  std::list<Flight> flights_;                 // by due time, then in order of sending
  std::array<std::uint64_t, 2> sequences_{};  // by lane
  Random random_;
  Clock::time_point last_due_{}, last_barrier_{};
  std::map<std::tuple<int, int, int, std::uint32_t>, Clock::time_point> last_due_of_;
  bool peer_done_ = false;  // the source's last word is delivered

  std::mutex mutex_;
  std::condition_variable changed_;
  bool work_ = false, source_gone_ = false, stop_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace hairpin::link
