// A simulation in words. Pure functions, thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {

// "cloud 2 busy 96 %, the link down 71 %, the edge waits 3 %": the busiest rank, the directions of
// the link that anything keeps busy, and the edge (its busiest replica; on a line of ranks the
// least busy rank), as parts of the makespan.
std::string busy_line(const Schedule& schedule, const Simulation& simulation);

// Parts of the makespan that the critical path spends on each rank, on each direction of the link
// and in latency; the largest first, those of nothing left out.
std::vector<std::pair<std::string, double>> path_shares(const Schedule& schedule,
                                                        const Simulation& simulation);

}  // namespace hairpin::schedule
