// Times as a command line gives them, in any one unit. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct TimeOptions {
  double latency = 0;  // one way, between edge and cloud
  // Default: the spec's unit times, 1 1 2 2.
  std::optional<double> fs, fe, bs, be;
  // A cloud stage's, or any stage's on a line of ranks, which has none of the four above: one time
  // for all or one each. Default: 2 and 4.
  std::vector<double> f, b;
  // The part of a split backward that makes the weights' gradients, of every stage.
  double weight_share = 0.5;
  // What one microbatch keeps a direction busy with each time it crosses: the times themselves, or
  // its bytes over the bandwidth in bytes per unit of time. Default: nothing.
  std::optional<double> transfer_up, transfer_down;
  std::optional<double> bytes, bandwidth_up, bandwidth_down;
};

// Errors (bad_input): a time the shape has no op for, lists of another length than there are
// stages, a transfer time beside a bandwidth, a bandwidth without bytes or the other way round,
// one that isn't above zero, and what `check_costs` refuses.
Result<Costs> to_costs(const Schedule& layout, const TimeOptions& options);

}  // namespace hairpin::schedule
