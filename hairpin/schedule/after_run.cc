#include "hairpin/schedule/after_run.h"

#include <algorithm>

#include "hairpin/schedule/advice.h"
#include "hairpin/schedule/explain.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {

GenerateOptions options_of(const Record& record) {
  const Schedule& schedule = record.schedule;
  return {.pp = schedule.pp(),
          .microbatches = schedule.microbatches,
          .domains = schedule.domains,
          .edges = schedule.edge_ranks > 0 ? schedule.edge_ranks : 1,
          .shape = schedule.is_hairpin() ? Shape::hairpin : Shape::line,
          .split_backward = !schedule.split_backward.empty(),
          .times = record.times,
          .in_flight_cap = record.in_flight_cap,
          .pending_weights_cap = {}};
}

Result<std::string> after_run_line(const Record& record) {
  if (!record.times) return std::string();
  HAIRPIN_TRY(const Costs costs, to_costs(record.schedule, *record.times));
  HAIRPIN_TRY(const Simulation simulation, simulate(record.schedule, costs));
  HAIRPIN_TRY(const auto advice, advice_for(record, costs, simulation.step));
  return busy_line(record.schedule, simulation) + "; " + advice;
}

Result<std::string> advice_for(const Record& record, const Costs& costs, double step) {
  const auto options = options_of(record);
  HAIRPIN_TRY(const Schedule fresh, generate_for(record.schedule.kind, options, costs));
  step = std::min(step, replay(fresh, costs).step);
  HAIRPIN_TRY(const auto improved, improvements(record.schedule.kind, options, costs));
  return advice(improved, step, milliseconds_text, " ms");
}

std::string milliseconds_text(double microseconds) {
  const double ms = microseconds / 1000;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

}  // namespace hairpin::schedule
