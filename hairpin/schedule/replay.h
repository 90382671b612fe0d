// A schedule's lists in time, without the proofs of `check`. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/event_loop.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct Span {
  double start = 0, end = 0;
};

struct Place {
  std::size_t rank = 0, position = 0;  // in the rank's list
};

struct Replay {
  double makespan = 0;                   // end of the last op
  double step = 0;                       // to the next step's start: `step_time` (boundary.h)
  std::vector<std::vector<Span>> spans;  // spans[rank][i] is when schedule.ranks[rank][i] ran
  std::vector<Place> order;              // all ops as they started: each after those it waits for
  std::vector<Crossing> crossings;       // by time of queueing
};

// Each rank runs its list in order, an op as soon as the rank is free and the op's input is there.
// Schedule and costs have passed their checks.
Replay replay(const Schedule& schedule, const Costs& costs);

}  // namespace hairpin::schedule
