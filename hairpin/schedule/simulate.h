// How long a schedule takes, without tensors. Pure, thread-safe.
//
// Each rank runs its list in order, an op as soon as the rank is free and the op's input has
// arrived. Every rank starts at time 0 with nothing in flight: one step, from its boundary on. The
// scalars that both sites push at the boundary are waited for by nobody, so they cost no time.
#pragma once

#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct Span {
  double start = 0, end = 0;
};

struct Simulation {
  double makespan = 0;         // end of the last op
  std::vector<double> busy;    // by rank: the time spent in ops
  std::vector<double> bubble;  // by rank: 1 - busy / makespan, the idle share
  double mean_bubble = 0;      // over ranks
  PeakInFlight peak_in_flight;
  std::vector<std::vector<Span>> spans;  // spans[rank][i] is when schedule.ranks[rank][i] ran
};

// Errors (bad_input): a schedule that `check` refuses, costs that `check_costs` refuses.
Result<Simulation> simulate(const Schedule& schedule, const Costs& costs);

}  // namespace hairpin::schedule
