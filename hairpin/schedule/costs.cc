#include "hairpin/schedule/costs.h"

#include <cmath>

namespace hairpin::schedule {

Costs unit_costs(const Schedule& layout) {
  const std::size_t stages = layout.position_of_stage.size();
  Costs costs{.forward = std::vector<double>(stages, 2),
              .backward = std::vector<double>(stages, 4)};
  if (layout.is_hairpin()) {
    costs.forward.front() = costs.forward.back() = 1;
    costs.backward.front() = costs.backward.back() = 2;
  }
  return costs;
}

bool is_cut(const Schedule& layout, int stage, int other) {
  const auto on_edge = [&layout](int s) {
    return layout.edge_ranks > 0 && layout.position_of_stage[static_cast<std::size_t>(s)] == 0;
  };
  return on_edge(stage) != on_edge(other);
}

Result<void> check_costs(const Schedule& layout, const Costs& costs) {
  const std::size_t stages = layout.position_of_stage.size();
  if (costs.forward.size() != stages || costs.backward.size() != stages)
    return bad_input("{} forward and {} backward times were given for {} stages",
                     costs.forward.size(), costs.backward.size(), stages);
  const auto sound = [](double time) { return std::isfinite(time) && time >= 0; };
  for (std::size_t stage = 0; stage < stages; ++stage)
    if (!sound(costs.forward[stage]) || !sound(costs.backward[stage]))
      return bad_input("the times of stage {} are {} and {}; they must be finite and not negative",
                       stage, costs.forward[stage], costs.backward[stage]);
  if (!sound(costs.link.latency))
    return bad_input("latency is {}; it must be finite and not negative", costs.link.latency);
  return {};
}

}  // namespace hairpin::schedule
