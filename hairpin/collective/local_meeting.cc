#include "hairpin/collective/local_meeting.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::collective {

Meeting::Meeting(std::shared_ptr<LocalWorld::State> world, int size, std::string name)
    : world_(std::move(world)),
      name_(std::move(name)),
      members_(static_cast<std::size_t>(size)),
      calls_(static_cast<std::size_t>(size)) {
  for (auto& each : members_) each.inbox.resize(members_.size());
}

void Meeting::check_not_over(int rank, const Operation& call) {
  if (world_->failed()) throw Aborted(*world_->error());
  if (member(rank).abandoned)
    throw Aborted(
        {ErrorKind::internal,
         fmt::format(
             "{}: {} on rank {} was given up, because an exception left one before it in flight",
             name_, kind_name(call.kind), rank)});
}

void Meeting::meet(int rank, const Operation& call) {
  std::unique_lock lock(mutex_);
  check_not_over(rank, call);
  auto& self = member(rank);
  calls_[static_cast<std::size_t>(rank)] = &call;
  if (come_ + 1 == size()) {
    check_agreement(calls_, name_);
    return release(call);
  }
  ++come_;
  self.waits_for_all = true;
  const auto before = meetings_;
  try {
    check_waits_can_end();
    changed_.wait(lock, [&] { return meetings_ != before || over(rank); });
    if (meetings_ == before) check_not_over(rank, call);
  } catch (...) {
    --come_;
    self.waits_for_all = false;
    throw;
  }
}

void Meeting::release(const Operation& call) {
  come_ = 0;
  ++meetings_;
  for (auto& each : members_) each.waits_for_all = false;
  if (call.kind == Kind::exchange) {
    objects_.clear();
    objects_bytes_ = 0;
    objects_taken_ = 0;
    for (const auto* each : calls_) {
      objects_.push_back(each->object);
      objects_bytes_ += each->object_bytes;
    }
  }
  changed_.notify_all();
}

void Meeting::together() {
  std::unique_lock lock(mutex_);
  if (++inner_come_ == size()) {
    inner_come_ = 0;
    ++inner_meetings_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [this, before = inner_meetings_] { return inner_meetings_ != before; });
}

std::pair<Objects, std::uint64_t> Meeting::take_objects() {
  const std::lock_guard lock(mutex_);
  if (++objects_taken_ < size()) return {objects_, objects_bytes_};
  return {std::exchange(objects_, {}), objects_bytes_};
}

void Meeting::send(int rank, const Operation& call) {
  const auto bytes = call.in_size * element_bytes(call.element);
  Message message{std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)),
                  call.in_size};
  if (bytes > 0) std::memcpy(message.data.get(), call.in, static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  check_not_over(rank, call);
  member(call.root).inbox[static_cast<std::size_t>(rank)].push_back(std::move(message));
  changed_.notify_all();
}

std::uint64_t Meeting::receive(int rank, const Operation& call) {
  std::unique_lock lock(mutex_);
  check_not_over(rank, call);
  auto& self = member(rank);
  auto& inbox = self.inbox[static_cast<std::size_t>(call.root)];
  if (inbox.empty()) {
    self.receives_from = call.root;
    check_waits_can_end();
    changed_.wait(lock, [&] { return !inbox.empty() || over(rank); });
    self.receives_from = -1;
    check_not_over(rank, call);
  }
  const auto message = std::move(inbox.front());
  inbox.pop_front();
  lock.unlock();
  HAIRPIN_CHECK(message.size == call.out_size, "{}: {} on rank {}, which sent {}", name_,
                describe(call), rank, message.size);
  const auto bytes = static_cast<std::size_t>(call.out_size * element_bytes(call.element));
  if (bytes > 0) std::memcpy(call.out, message.data.get(), bytes);
  return bytes;
}

void Meeting::abandon(int rank) {
  const std::lock_guard lock(mutex_);
  member(rank).abandoned = true;
  changed_.notify_all();
}

void Meeting::leave(int rank) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    member(rank).left = true;
    try {
      check_waits_can_end();
    } catch (const BrokenInvariant& broken) {
      reason = broken.what();
    }
  }
  if (!reason.empty()) world_->fail({ErrorKind::internal, reason});
}

void Meeting::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Meeting::check_waits_can_end() {
  for (int rank = 0; rank < size(); ++rank) check_wait_can_end(rank);
}

// Follows who waits for whom. A rank that has come to a collective call waits for all others, so
// one that waits for its message, by however many steps, waits forever.
void Meeting::check_wait_can_end(int rank) {
  if (member(rank).waits_for_all) {
    const auto gone = std::ranges::find_if(members_, &Member::left);
    HAIRPIN_CHECK(gone == members_.end(), "{}: rank {} waits in {} for rank {}, which has left",
                  name_, rank, describe(*calls_[static_cast<std::size_t>(rank)]),
                  gone - members_.begin());
    return;
  }
  int at = rank;
  for (int steps = 0; steps <= size(); ++steps) {
    const int from = member(at).receives_from;
    if (from < 0 || !member(at).inbox[static_cast<std::size_t>(from)].empty()) return;
    HAIRPIN_CHECK(!member(from).left, "{}: rank {} waits in receive for rank {}, which has left",
                  name_, at, from);
    HAIRPIN_CHECK(!member(from).waits_for_all,
                  "{}: rank {} calls {}, while rank {} receives from it", name_, from,
                  describe(*calls_[static_cast<std::size_t>(from)]), at);
    at = from;
  }
  HAIRPIN_CHECK(false, "{}: ranks receive from one another in a circle, rank {} among them", name_,
                at);
}

}  // namespace hairpin::collective
