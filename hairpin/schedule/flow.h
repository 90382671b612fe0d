// How often, and on how long a way, microbatches can go through a layout, in whole numbers: how
// deep a pipeline must be. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

struct Flow {
  // What the busiest of an edge replica, a cloud rank and a direction of the link needs for one
  // microbatch of the step, times domains times edge replicas, so that it is a whole number.
  std::int64_t scaled_period = 0;
  // By stage: from the start of a microbatch's forward to the end of its backward, alone.
  std::vector<std::int64_t> round_trip;
};

// For the hairpin shape, with times that `to_costs` accepts.
Flow flow_of(const Schedule& layout, const Times& times);

// Microbatches of one rank of STAGE that pass in SCALE round trips at the busiest one's pace,
// rounded up: fewer in flight can't keep it busy. At least 1, at most all of them.
int depth_of(const Schedule& layout, const Flow& flow, int stage, int scale);

}  // namespace hairpin::schedule
