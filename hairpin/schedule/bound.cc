#include "hairpin/schedule/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hairpin::schedule {
namespace {

// By stage: the least time before its forward can start, and after its input gradient has ended.
struct Distances {
  std::vector<double> before, after;
  double round_trip = 0;
};

// The part of STAGE's backward that makes the gradient of its input.
double input_part(const Schedule& layout, const Costs& costs, int stage) {
  return costs.of({layout.backward_of(stage), stage});
}

double weight_part(const Schedule& layout, const Costs& costs, int stage) {
  return layout.is_split(stage) ? costs.weight_part(stage) : 0;
}

Distances distances(const Schedule& layout, const Costs& costs) {
  Distances d;
  double forward = 0, backward = 0;
  for (int stage = 0; stage < layout.num_stages(); ++stage) {
    if (stage > 0 && is_cut(layout, stage - 1, stage)) {
      const bool up = is_on_edge(layout, stage - 1);
      const LinkCosts& link = costs.link;
      forward += link.latency + (up ? link.up : link.down).activation;
      backward += link.latency + (up ? link.down : link.up).gradient;
    }
    d.before.push_back(forward);
    d.after.push_back(backward);
    forward += costs.forward[static_cast<std::size_t>(stage)];
    backward += input_part(layout, costs, stage);
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

double bound_of_position(const Schedule& layout, const Costs& costs, const Distances& d,
                         int position) {
  double before = std::numeric_limits<double>::infinity(), after = before;
  double work = 0, weights = 0;
  for (int stage = 0; stage < layout.num_stages(); ++stage) {
    const auto i = static_cast<std::size_t>(stage);
    if (layout.position_of_stage[i] != position) continue;
    before = std::min(before, d.before[i]);
    after = std::min(after, d.after[i]);
    work += costs.forward[i] + input_part(layout, costs, stage);
    weights += weight_part(layout, costs, stage);
  }
  const double n = most_microbatches(layout, position);
  if (work + weights == 0) return 0;  // a position without ops, or one that costs nothing
  return before + n * work + std::max(n * weights, after);
}

double bound_of_link(const Schedule& layout, const Costs& costs) {
  double up = 0, down = 0;
  for (int stage = 0; stage + 1 < layout.num_stages(); ++stage) {
    if (!is_cut(layout, stage, stage + 1)) continue;
    const bool from_edge = is_on_edge(layout, stage);
    (from_edge ? up : down) += (from_edge ? costs.link.up : costs.link.down).activation;
    (from_edge ? down : up) += (from_edge ? costs.link.down : costs.link.up).gradient;
  }
  return std::max(up, down) * layout.microbatches * layout.domains;
}

}  // namespace

Result<double> lower_bound(const Schedule& layout, const Costs& costs) {
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  const Distances d = distances(layout, costs);
  double bound = std::max(d.round_trip, bound_of_link(layout, costs));
  for (int position = 0; position < layout.pp(); ++position)
    bound = std::max(bound, bound_of_position(layout, costs, d, position));
  return bound;
}

}  // namespace hairpin::schedule
