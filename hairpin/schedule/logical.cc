#include "hairpin/schedule/logical.h"

#include <algorithm>

#include "hairpin/base/check.h"
#include "hairpin/schedule/hairpin.h"
#include "hairpin/schedule/line.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

struct Slot {
  std::vector<Op> fs, tail, be;
};

Simulation timeline(const Schedule& logical) {
  Costs costs = unit_costs(logical);
  costs.forward.front() = costs.forward.back() = 1;
  costs.backward.front() = costs.backward.back() = 2;
  auto simulation = simulate(logical, costs);
  HAIRPIN_CHECK(simulation.has_value(), "{}", simulation.error().message);
  return std::move(*simulation);
}

// When each pair (FE BS) of the tail ends, ascending.
std::vector<double> slot_ends(const Schedule& logical, const Simulation& simulation) {
  std::vector<double> ends;
  for (std::size_t i = 0; i < logical.ranks.back().size(); ++i)
    if (logical.ranks.back()[i].kind == OpKind::backward)
      ends.push_back(simulation.spans.back()[i].end);
  return ends;
}

// One slot for each pair of the tail, one before them and one after them.
std::vector<Slot> fill_slots(const Schedule& logical) {
  const Simulation simulation = timeline(logical);
  const std::vector<double> ends = slot_ends(logical, simulation);
  std::vector<Slot> slots(ends.size() + 2);
  for (const Op& op : logical.ranks.back())
    slots[static_cast<std::size_t>(op.microbatch) + 1].tail.push_back(op);
  std::size_t slot = 0;
  for (std::size_t i = 0; i < logical.ranks.front().size(); ++i) {
    const Op& op = logical.ranks.front()[i];
    if (op.kind == OpKind::forward) {
      slots[slot].fs.push_back(op);
      continue;
    }
    const double start = simulation.spans.front()[i].start;
    slot = 1 + static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), start) -
                                        ends.begin());
    slots[slot].be.push_back(op);
  }
  return slots;
}

}  // namespace

Schedule logical_stages(int pp, int m) { return line_1f1b(pp + 1, m, 1); }

Schedule merge_logical(const Schedule& logical) {
  const int pp = logical.num_stages() - 1;
  Schedule merged = empty_hairpin("hairpin-1f1b", pp, logical.microbatches, {});
  std::vector<Op>& edge = merged.ranks[0];
  for (const Slot& slot : fill_slots(logical))
    for (const auto* ops : {&slot.fs, &slot.tail, &slot.be})
      edge.insert(edge.end(), ops->begin(), ops->end());
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(pp); ++rank)
    merged.ranks[rank] = logical.ranks[rank];
  return merged;
}

}  // namespace hairpin::schedule
