#include "hairpin/schedule/boundary.h"

#include <algorithm>

namespace hairpin::schedule {

double step_time(const Schedule& layout, const Costs& costs, const std::vector<double>& last_end) {
  const double makespan = *std::max_element(last_end.begin(), last_end.end());
  if (layout.edge_ranks == 0) return makespan;
  const double cloud = *std::max_element(last_end.begin() + layout.edge_ranks, last_end.end());
  return std::max(makespan, cloud + costs.link.latency);
}

}  // namespace hairpin::schedule
