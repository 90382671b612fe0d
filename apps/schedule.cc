#include <fmt/core.h>

#include "apps/commands.h"

namespace hairpin::apps {

Result<void> schedule_show(const schedule::ShowOptions& options) {
  HAIRPIN_TRY(const auto text, schedule::show(options));
  fmt::print("{}", text);
  return {};
}

Result<void> schedule_simulate(const schedule::SimulateOptions& options) {
  HAIRPIN_TRY(const auto text, schedule::simulate_report(options));
  fmt::print("{}", text);
  return {};
}

}  // namespace hairpin::apps
