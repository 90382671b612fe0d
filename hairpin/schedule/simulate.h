// How long a schedule takes, without tensors. Pure, thread-safe.
//
// Each rank runs its list in order, an op as soon as the rank is free and the op's input has
// arrived (event_loop.h; the link is LinkCosts'). Every rank starts at time 0 with nothing in
// flight: one step, from its boundary on.
#pragma once

#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct Simulation : Replay {
  std::vector<double> busy;    // by rank: the time spent in ops
  std::vector<double> bubble;  // by rank: 1 - busy / makespan, the idle share
  double mean_bubble = 0;      // over ranks
  PeakInFlight peak_in_flight;
  double link_busy_up = 0, link_busy_down = 0;  // time spent in transfers
};

// Errors (bad_input): a schedule that `check` refuses, costs that `check_costs` refuses.
Result<Simulation> simulate(const Schedule& schedule, const Costs& costs);

}  // namespace hairpin::schedule
