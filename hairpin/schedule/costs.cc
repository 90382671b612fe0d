#include "hairpin/schedule/costs.h"

#include <cmath>
#include <utility>

namespace hairpin::schedule {
namespace {

bool sound(double time) { return std::isfinite(time) && time >= 0; }

Result<void> check_stage(const Costs& costs, int stage) {
  const auto i = static_cast<std::size_t>(stage);
  if (!sound(costs.forward[i]) || !sound(costs.backward[i]))
    return bad_input("the times of stage {} are {} and {}; they must be finite and not negative",
                     stage, costs.forward[i], costs.backward[i]);
  if (const double weight = costs.weight_part(stage); !sound(weight) || weight > costs.backward[i])
    return bad_input(
        "the weights' gradients of stage {} take {} of a backward of {}; give from 0 to all of it",
        stage, weight, costs.backward[i]);
  return {};
}

}  // namespace

double Costs::weight_part(int stage) const {
  const auto i = static_cast<std::size_t>(stage);
  return backward_weight.empty() ? backward[i] / 2 : backward_weight[i];
}

double Costs::of(const Op& op) const {
  const auto i = static_cast<std::size_t>(op.stage);
  switch (op.kind) {
    case OpKind::forward: return forward[i];
    case OpKind::backward: return backward[i];
    case OpKind::backward_input: return backward[i] - weight_part(op.stage);
    case OpKind::backward_weight: return weight_part(op.stage);
  }
  return 0;
}

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

Result<double> transfer_time(double bytes, double bandwidth) {
  if (!std::isfinite(bandwidth) || bandwidth <= 0)
    return bad_input("bandwidth is {}; it must be above zero and finite", bandwidth);
  if (!sound(bytes)) return bad_input("{} bytes cross the link; give zero or more", bytes);
  return bytes / bandwidth;
}

bool is_on_edge(const Schedule& layout, int stage) {
  return layout.edge_ranks > 0 && layout.position_of_stage[static_cast<std::size_t>(stage)] == 0;
}

bool is_cut(const Schedule& layout, int stage, int other) {
  return is_on_edge(layout, stage) != is_on_edge(layout, other);
}

Result<void> check_costs(const Schedule& layout, const Costs& costs) {
  const std::size_t stages = layout.position_of_stage.size();
  if (costs.forward.size() != stages || costs.backward.size() != stages)
    return bad_input("{} forward and {} backward times were given for {} stages",
                     costs.forward.size(), costs.backward.size(), stages);
  if (!costs.backward_weight.empty() && costs.backward_weight.size() != stages)
    return bad_input("{} times of weights' gradients were given for {} stages",
                     costs.backward_weight.size(), stages);
  for (int stage = 0; stage < layout.num_stages(); ++stage)
    HAIRPIN_CHECK_OK(check_stage(costs, stage));
  const LinkCosts& link = costs.link;
  for (const auto& [name, time] :
       {std::pair("latency", link.latency), std::pair("transfer up", link.up.activation),
        std::pair("transfer up", link.up.gradient),
        std::pair("transfer down", link.down.activation),
        std::pair("transfer down", link.down.gradient)})
    if (!sound(time)) return bad_input("{} is {}; it must be finite and not negative", name, time);
  return {};
}

}  // namespace hairpin::schedule
