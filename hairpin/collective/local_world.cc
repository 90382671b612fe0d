#include "hairpin/collective/local_world.h"

#include <utility>

#include "hairpin/collective/local_meeting.h"

namespace hairpin::collective {

void LocalWorld::State::fail(Error error) {
  std::vector<std::weak_ptr<Meeting>> meetings;
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    failed_ = true;
    meetings = meetings_;
  }
  for (const auto& each : meetings)
    if (const auto meeting = each.lock()) meeting->wake();
}

std::optional<Error> LocalWorld::State::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void LocalWorld::State::add(std::weak_ptr<Meeting> meeting) {
  const std::lock_guard lock(mutex_);
  has_groups_ = true;
  std::erase_if(meetings_, [](const auto& each) { return each.expired(); });
  meetings_.push_back(std::move(meeting));
}

bool LocalWorld::State::has_groups() const {
  const std::lock_guard lock(mutex_);
  return has_groups_;
}

}  // namespace hairpin::collective
