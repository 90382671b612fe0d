// Where the ranks of one group meet, and how long they wait for one another.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hairpin/collective/local_world.h"
#include "hairpin/collective/operation.h"

namespace hairpin::collective {

// Thread-safe; each rank is in one operation at a time. Waits end by throwing Aborted once the
// world has failed, with one exception: an operation to which all ranks have come is carried to its
// end by all of them, so no rank's buffers go away while another reads them.
class Meeting {
 public:
  Meeting(std::shared_ptr<LocalWorld::State> world, int size, std::string name);

  const std::string& name() const { return name_; }
  int size() const { return static_cast<int>(calls_.size()); }
  LocalWorld::State& world() { return *world_; }

  // Waits until all ranks have come, with calls that agree (else a failed check).
  void meet(int rank, const Operation& call);
  // After `meet`: the calls of all ranks, by rank, until this rank's `together` that ends it.
  std::span<const Operation* const> calls() const { return calls_; }
  // After `meet`: waits until all ranks are here. Nobody can be missing.
  void together();
  // After `meet` of an exchange, once: all ranks' objects and their bytes in all.
  std::pair<Objects, std::uint64_t> take_objects();

  void send(int rank, const Operation& call);
  // Returns the bytes received.
  std::uint64_t receive(int rank, const Operation& call);

  // The rank's operation ends if it waits for others to come; it can make no other.
  void abandon(int rank);
  // The rank makes no further calls. Fails the world if another waits for it.
  void leave(int rank);
  // Waiting ranks look at the world again.
  void wake();

 private:
  struct Message {
    std::unique_ptr<std::byte[]> data;
    std::int64_t size = 0;
  };
  struct Member {
    bool waits_for_all = false;
    int receives_from = -1;  // the rank whose message it waits for
    bool abandoned = false;
    bool left = false;
    std::vector<std::deque<Message>> inbox;  // by sender
  };

  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  bool over(int rank) { return world_->failed() || member(rank).abandoned; }
  void check_not_over(int rank, const Operation& call);
  void release(const Operation& call);
  void check_waits_can_end();
  void check_wait_can_end(int rank);

  const std::shared_ptr<LocalWorld::State> world_;
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Member> members_;
  std::vector<const Operation*> calls_;
  int come_ = 0, inner_come_ = 0;
  std::uint64_t meetings_ = 0, inner_meetings_ = 0;  // completed
  Objects objects_;
  std::uint64_t objects_bytes_ = 0;
  int objects_taken_ = 0;
};

}  // namespace hairpin::collective
