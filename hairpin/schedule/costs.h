// What ops and crossings cost, for the simulator and the bound. Any one unit of time.
#pragma once

#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The link between edge and cloud, one way. Inside a site nothing costs time. The one place where
// bandwidth (bytes of a microbatch / bytes per time, first in first out per direction) belongs.
struct LinkCosts {
  double latency = 0;
};

struct Costs {
  std::vector<double> forward;   // by logical stage
  std::vector<double> backward;  // by logical stage
  LinkCosts link;

  double of(const Op& op) const {
    return (op.kind == OpKind::forward ? forward : backward)[static_cast<std::size_t>(op.stage)];
  }
};

// The unit times of the spec: FS = FE = 1, BS = BE = 2, cloud F = 2, B = 4, no latency.
Costs unit_costs(const Schedule& layout);

// Whether the boundary between two neighbouring stages is a cut: one side on the edge, the other
// in the cloud. A line of ranks has none.
bool is_cut(const Schedule& layout, int stage, int other);

// Error (bad_input): not one time a stage, or a time or latency that is negative or not finite.
Result<void> check_costs(const Schedule& layout, const Costs& costs);

}  // namespace hairpin::schedule
