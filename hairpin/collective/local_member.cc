#include "hairpin/collective/local_member.h"

#include <exception>

#include "hairpin/base/check.h"
#include "hairpin/collective/local_movement.h"

namespace hairpin::collective {
namespace {

double seconds(LocalMember::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

template <class Step>
void LocalMember::guarded(Step step) {
  auto& world = meeting_->world();
  try {
    step();
  } catch (const Aborted&) {
    throw;
  } catch (const BrokenInvariant& broken) {
    world.fail({ErrorKind::internal, broken.what()});
    throw Aborted(*world.error());
  } catch (const std::exception& other) {
    world.fail({ErrorKind::internal, other.what()});
    throw;
  }
}

void LocalMember::check(const Operation& call) {
  guarded([&] { check_arguments(call, meeting_->name(), rank_, meeting_->size()); });
}

void LocalMember::execute(const Operation& call, bool on_worker) {
  const auto begin = Clock::now();
  std::uint64_t bytes = 0;
  guarded([&] { bytes = carry_out(*meeting_, rank_, call); });
  const auto end = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    ++traffic_.operations;
    traffic_.bytes += bytes;
    traffic_.seconds += seconds(end - begin);
    if (!on_worker) traffic_.exposed_seconds += seconds(end - begin);
  }
  report(kind_name(call.kind), on_worker, bytes, begin, end);
}

void LocalMember::waited(Kind kind, Clock::time_point begin) {
  const auto end = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    traffic_.exposed_seconds += seconds(end - begin);
  }
  report(kind_wait_name(kind), false, 0, begin, end);
}

void LocalMember::report(std::string_view operation, bool on_worker, std::uint64_t bytes,
                         Clock::time_point begin, Clock::time_point end) {
  const auto& hook = meeting_->world().on_span;
  if (!hook || meeting_->size() == 1) return;
  hook({.group = meeting_->name(),
        .operation = operation,
        .rank = rank_,
        .on_worker = on_worker,
        .bytes = bytes,
        .begin = begin,
        .end = end});
}

Traffic LocalMember::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

}  // namespace hairpin::collective
