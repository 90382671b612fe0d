#include "hairpin/schedule/compare.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "hairpin/schedule/advice.h"
#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

Result<Compared> compared(const std::string& kind, const GenerateOptions& asked,
                          const Costs& costs) {
  GenerateOptions options = asked;
  if (kind != "hairpin-adaptive") options.in_flight_cap.clear();
  HAIRPIN_TRY(const Schedule schedule, generate_for(kind, options, costs));
  HAIRPIN_TRY(const Simulation simulation, simulate(schedule, costs));
  HAIRPIN_TRY(const double bound, lower_bound(schedule, costs));
  const auto legal = check(schedule, {.in_flight_cap = asked.in_flight_cap});
  return Compared{kind,
                  simulation.makespan,
                  simulation.step,
                  bound,
                  simulation.peak_in_flight.stage,
                  legal ? "" : legal.error().message};
}

std::string numbers(const std::vector<int>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string text_of(const Comparison& comparison) {
  std::string text = fmt::format("{:<17}{:>10}{:>10}{:>9}  {:<8}{}\n", "kind", "makespan", "step",
                                 "x bound", "legal", "in flight by stage");
  for (const Compared& c : comparison.kinds)
    text += fmt::format("{:<17}{:>10g}{:>10g}{:>9.3f}  {:<8}{}\n", c.kind, c.makespan, c.step,
                        c.bound > 0 ? c.makespan / c.bound : 1, c.refusal.empty() ? "yes" : "no",
                        numbers(c.peak_in_flight));
  if (comparison.depth_needed)
    text += fmt::format("{} x bound needs {} in flight by stage\n", kClose,
                        numbers(*comparison.depth_needed));
  return text;
}

std::string json_of(const Comparison& comparison) {
  auto kinds = nlohmann::ordered_json::array();
  for (const Compared& c : comparison.kinds)
    kinds.push_back({{"kind", c.kind},
                     {"makespan", c.makespan},
                     {"step", c.step},
                     {"lower_bound", c.bound},
                     {"ratio", c.bound > 0 ? c.makespan / c.bound : 1},
                     {"peak_in_flight_by_stage", c.peak_in_flight},
                     {"legal", c.refusal.empty()},
                     {"refusal", c.refusal}});
  nlohmann::ordered_json report = {{"kinds", std::move(kinds)}, {"depth_needed", nullptr}};
  if (comparison.depth_needed) report["depth_needed"] = *comparison.depth_needed;
  return report.dump() + "\n";
}

}  // namespace

Result<Comparison> compare(const CompareOptions& asked) {
  GenerateOptions options = asked.generate;
  options.shape = options.shape.value_or(Shape::hairpin);
  const bool hairpin = options.shape == Shape::hairpin;
  Comparison made;
  for (const std::string& kind : known_kinds()) {
    const bool on_a_line = kind == "1f1b" || kind == "zb-h1";
    if (kind != "gpipe" && on_a_line == hairpin) continue;
    HAIRPIN_TRY(const Schedule layout, layout_of(kind, options));
    HAIRPIN_TRY(const Costs costs, to_costs(layout, asked.times));
    HAIRPIN_TRY(const GenerateOptions capped, with_caps_by_stage(kind, layout, options));
    HAIRPIN_TRY(Compared one, compared(kind, capped, costs));
    made.kinds.push_back(std::move(one));
    if (kind != "hairpin-adaptive") continue;
    HAIRPIN_TRY(made.depth_needed, depth_to_be_close(options, costs));
  }
  return made;
}

Result<std::string> compare_report(const CompareOptions& options) {
  HAIRPIN_TRY(const Comparison comparison, compare(options));
  return options.json ? json_of(comparison) : text_of(comparison);
}

}  // namespace hairpin::schedule
