// The boundary between two steps. Pure, thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// From a step's start to the next one's, given when each rank's last op ended. The edge can start
// the next step when its own ops have ended and the cloud's scalars are there: they leave when the
// cloud's last op has ended, follow what is on the link, all of which the edge's ops wait for
// anyway, and arrive a latency later. The edge's scalars leave before its next FS and so arrive
// before it: nobody waits for them. On a line of ranks: the last end.
double step_time(const Schedule& layout, const Costs& costs, const std::vector<double>& last_end);

}  // namespace hairpin::schedule
