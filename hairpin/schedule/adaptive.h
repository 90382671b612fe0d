// The schedule that fits the measured times: order and depth found by search. Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

// Limits on what a rank holds, one number a stage, each at least 1.
struct Caps {
  std::vector<int> in_flight;        // empty: no limit
  std::vector<int> pending_weights;  // of split stages
};

// Runs the list scheduler (list_scheduler.h) under a few preferences, depths, ways of waiting and
// pretended latencies, then moves the best one's depths by steps of one and two; the fewer ops, the
// more of it. Of all these and of OTHERS, which must be legal under the caps, it returns
// the one with the shortest step by replay, of equals the shortest makespan, then the least in
// flight. So it is never slower than any of OTHERS. Whole numbers and sums of them only: equal on
// every machine. LAYOUT is a hairpin with empty lists, whose kind the result has.
Schedule hairpin_adaptive(const Schedule& layout, const Times& times, const Caps& caps,
                          const std::vector<Schedule>& others);

// The peaks in flight by stage of the order that the same search finds under the lowest cap on
// microbatches in flight, one for all stages, that lets it come within FACTOR x the lower bound; by
// bisection. Nothing if it can't without a cap.
std::optional<std::vector<int>> depth_needed(const Schedule& layout, const Times& times,
                                             const std::vector<int>& pending_weights,
                                             double factor);

}  // namespace hairpin::schedule
