#include "hairpin/schedule/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hairpin::schedule {
namespace {

// By stage: the least time before its forward can start, and after its backward has ended.
struct Distances {
  std::vector<double> before, after;
  double round_trip = 0;
};

Distances distances(const Schedule& layout, const Costs& costs) {
  Distances d;
  double forward = 0, backward = 0;
  for (int stage = 0; stage < layout.num_stages(); ++stage) {
    if (stage > 0 && is_cut(layout, stage - 1, stage)) {
      forward += costs.link.latency;
      backward += costs.link.latency;
    }
    d.before.push_back(forward);
    d.after.push_back(backward);
    forward += costs.forward[static_cast<std::size_t>(stage)];
    backward += costs.backward[static_cast<std::size_t>(stage)];
  }
  d.round_trip = forward + backward;
  return d;
}

// Of the ranks at POSITION, the most microbatches that one serves: among the edge's replicas the
// first has them.
double most_microbatches(const Schedule& layout, int position) {
  if (position > 0 || layout.edge_ranks == 0) return layout.microbatches;
  return std::ceil(static_cast<double>(layout.microbatches) * layout.domains / layout.edge_ranks);
}

}  // namespace

Result<double> lower_bound(const Schedule& layout, const Costs& costs) {
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  const Distances d = distances(layout, costs);
  double bound = d.round_trip;
  for (int position = 0; position < layout.pp(); ++position) {
    double before = std::numeric_limits<double>::infinity(), after = before, work = 0;
    for (int stage = 0; stage < layout.num_stages(); ++stage) {
      const auto i = static_cast<std::size_t>(stage);
      if (layout.position_of_stage[i] != position) continue;
      before = std::min(before, d.before[i]);
      after = std::min(after, d.after[i]);
      work += costs.forward[i] + costs.backward[i];
    }
    work *= most_microbatches(layout, position);
    if (work > 0) bound = std::max(bound, before + work + after);
  }
  return bound;
}

}  // namespace hairpin::schedule
