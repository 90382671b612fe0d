// A time that no order of a layout's ops can beat. Pure, thread-safe.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The largest of
//   - over all ranks, earliest start of its first op + its own work + shortest completion after its
//   last op. With a split backward the weights' gradients may come last, when nobody waits: so it
//   is the larger of (earliest start + all work) and (earliest start + all work but the weights'
//   gradients + shortest completion), a completion going through input gradients only;
//   - the round trip of one microbatch;
//   - the busy time of each direction of the link.
// Only the layout, microbatches, domains and edge replicas are read, and which stages are split;
// not the lists, which may be empty. Source: the spec, section 4. Error (bad_input): costs that
// `check_costs` refuses.
Result<double> lower_bound(const Schedule& layout, const Costs& costs);

}  // namespace hairpin::schedule
