// How late each op may be. Pure, thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// slack[rank][i]: by how much schedule.ranks[rank][i] may end later without a later end of the last
// op, every list and both directions of the link keeping their order. TIMED is SCHEDULE's replay at
// COSTS.
std::vector<std::vector<double>> slack_of(const Schedule& schedule, const Costs& costs,
                                          const Replay& timed);

}  // namespace hairpin::schedule
