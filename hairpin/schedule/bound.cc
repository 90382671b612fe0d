#include "hairpin/schedule/bound.h"

#include <algorithm>
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

}  // namespace

Result<double> lower_bound(const Schedule& layout, const Costs& costs) {
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  const Distances d = distances(layout, costs);
  double bound = d.round_trip;
  for (int rank = 0; rank < layout.ranks_of_one_domain(); ++rank) {
    double before = std::numeric_limits<double>::infinity(), after = before, work = 0;
    for (const int stage : layout.stages_of(rank)) {
      const auto i = static_cast<std::size_t>(stage);
      before = std::min(before, d.before[i]);
      after = std::min(after, d.after[i]);
      work += layout.microbatches * (costs.forward[i] + costs.backward[i]);
    }
    if (rank < layout.shared_ranks) work *= layout.domains;
    if (work > 0) bound = std::max(bound, before + work + after);
  }
  return bound;
}

}  // namespace hairpin::schedule
