#include "hairpin/schedule/advice.h"

#include <algorithm>
#include <utility>

#include "hairpin/schedule/adaptive.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

double transfers(const LinkCosts& link) {
  return link.up.activation + link.up.gradient + link.down.activation + link.down.gradient;
}

LinkCosts with_transfers_halved(LinkCosts link) {
  for (Transfer* transfer : {&link.up, &link.down})
    *transfer = {transfer->activation / 2, transfer->gradient / 2};
  return link;
}

Costs with_edge_twice_as_fast(const Schedule& layout, Costs costs) {
  for (int stage = 0; stage < layout.num_stages(); ++stage) {
    if (!is_on_edge(layout, stage)) continue;
    const auto i = static_cast<std::size_t>(stage);
    for (auto* times : {&costs.forward, &costs.backward, &costs.backward_weight})
      if (i < times->size()) (*times)[i] /= 2;
  }
  return costs;
}

void double_caps(std::vector<int>& caps) {
  for (int& cap : caps) cap = cap > kMaxOps ? cap : 2 * cap;
}

// One thing that could be improved.
struct Change {
  std::string what;
  GenerateOptions options;
  Costs costs;
};

std::vector<Change> changes(const Schedule& layout, const GenerateOptions& options,
                            const Costs& costs) {
  std::vector<Change> made;
  if (transfers(costs.link) > 0) {
    made.push_back({"twice the bandwidth", options, costs});
    made.back().costs.link = with_transfers_halved(costs.link);
  }
  if (costs.link.latency > 0) {
    made.push_back({"half the latency", options, costs});
    made.back().costs.link.latency /= 2;
  }
  if (layout.edge_ranks > 0)
    made.push_back({"an edge twice as fast", options, with_edge_twice_as_fast(layout, costs)});
  if (!options.in_flight_cap.empty()) {
    made.push_back({"twice the memory for microbatches in flight", options, costs});
    double_caps(made.back().options.in_flight_cap);
    double_caps(made.back().options.pending_weights_cap);
  }
  return made;
}

}  // namespace

Result<Schedule> generate_for(std::string_view kind, GenerateOptions options, const Costs& costs) {
  HAIRPIN_TRY(const Schedule layout, layout_of(kind, options));
  HAIRPIN_TRY(options.times, to_times(layout, costs));
  return generate(kind, options);
}

Result<std::vector<Improvement>> improvements(std::string_view kind, const GenerateOptions& options,
                                              const Costs& costs) {
  HAIRPIN_TRY(const Schedule layout, layout_of(kind, options));
  std::vector<Improvement> made;
  for (const Change& change : changes(layout, options, costs)) {
    HAIRPIN_TRY(const Schedule schedule, generate_for(kind, change.options, change.costs));
    HAIRPIN_TRY(const Simulation simulation, simulate(schedule, change.costs));
    made.push_back({change.what, simulation.step});
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const Improvement& a, const Improvement& b) { return a.step < b.step; });
  return made;
}

Result<std::optional<std::vector<int>>> depth_to_be_close(const GenerateOptions& options,
                                                          const Costs& costs) {
  constexpr const char* kKind = "hairpin-adaptive";
  HAIRPIN_TRY(const Schedule layout, layout_of(kKind, options));
  HAIRPIN_TRY(const Times times, to_times(layout, costs));
  HAIRPIN_TRY(const GenerateOptions capped, with_caps_by_stage(kKind, layout, options));
  return depth_needed(layout, times, capped.pending_weights_cap, kClose);
}

std::string plain_number(double time) { return fmt::format("{:g}", time); }

std::string advice(const std::vector<Improvement>& improvements, double step,
                   std::string (*text)(double time), std::string_view unit) {
  if (step <= 0 || improvements.empty() || improvements.front().step > 0.99 * step)
    return "neither bandwidth nor latency, edge speed or memory alone would shorten the step by 1 "
           "%";
  const Improvement& best = improvements.front();
  return fmt::format("{} would help most: step {} -> {}{} (-{:.0f} %)", best.what, text(step),
                     text(best.step), unit, 100 * (1 - best.step / step));
}

}  // namespace hairpin::schedule
