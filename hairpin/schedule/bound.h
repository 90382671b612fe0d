// A time that no order of a layout's ops can beat. Pure, thread-safe.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The largest of, over all ranks, (earliest start of its first op + its own work + shortest
// completion after its last op), and the round trip of one microbatch. The busy time of each link
// direction joins them once the link has a bandwidth. Only the layout, microbatches, domains and
// edge replicas are read, not the lists, which may be empty. Source: the spec, section 4. Error
// (bad_input): costs that `check_costs` refuses.
Result<double> lower_bound(const Schedule& layout, const Costs& costs);

}  // namespace hairpin::schedule
