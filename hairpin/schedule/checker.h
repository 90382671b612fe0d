// Proof that a schedule can be executed as is. Pure, thread-safe.
#pragma once

#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct CheckOptions {
  // The most microbatches in flight on each logical stage of any one rank, over the domains it
  // serves (see in_flight.h). Empty: no cap; else one number a stage.
  std::vector<int> in_flight_cap;
  // The same for microbatches whose weights' gradients are pending.
  std::vector<int> pending_weights_cap;
};

// For any schedule, generated or not, proves that
//   - the layout is sound: stages at positions that exist, each backward whole or split, as many
//   lists as ranks, at most kMaxOps ops;
//   - every op of every stage, microbatch and domain stands exactly once, on the rank of its stage;
//   - ranks that run their lists in order never wait for each other in a circle (sends don't
//   block);
//   - both ends of every channel have the same order. A channel carries the activations, or the
//     gradients, of one domain between two neighbouring stages, from one rank to another;
//   - a split stage's weights' gradients are made in ascending order (microbatch, then domain), so
//   that they are always added in the same order;
//   - no stage holds more microbatches than its caps.
// The error (bad_input) names the first op that is wrong: "FE3 on rank 0 stands twice".
Result<void> check(const Schedule& schedule, const CheckOptions& options = {});

// The first of these alone: what the lists' contents may be read by. They aren't read.
Result<void> check_layout(const Schedule& schedule);

}  // namespace hairpin::schedule
