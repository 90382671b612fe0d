// One rank's side of a local group: what it has moved, and how its operations end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "hairpin/collective/local_meeting.h"
#include "hairpin/collective/operation.h"

namespace hairpin::collective {

// Thread-safe, but operations are executed one at a time. Shared by the group's handle, its worker
// and its Works.
class LocalMember {
 public:
  using Clock = std::chrono::steady_clock;

  LocalMember(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const { return rank_; }
  Meeting& meeting() const { return *meeting_; }

  // Throws Aborted, a defect included, which fails the world; or what else the operation threw,
  // which does so too.
  void check(const Operation& call);  // its arguments only
  void execute(const Operation& call, bool on_worker);
  // The rank's own thread stood still for `kind` from `begin` until now.
  void waited(Kind kind, Clock::time_point begin);
  void abandon() noexcept { meeting_->abandon(rank_); }

  Traffic traffic() const;

 private:
  template <class Step>
  void guarded(Step step);
  void report(std::string_view operation, bool on_worker, std::uint64_t bytes,
              Clock::time_point begin, Clock::time_point end);

  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
  mutable std::mutex mutex_;
  Traffic traffic_;
};

}  // namespace hairpin::collective
