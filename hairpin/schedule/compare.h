// Every kind of schedule for one layout side by side. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/time_options.h"

namespace hairpin::schedule {

struct CompareOptions {
  GenerateOptions generate;  // default shape: hairpin; its times aren't read
  TimeOptions times;
  bool json = false;
};

struct Compared {
  std::string kind;
  double makespan = 0, step = 0, bound = 0;
  std::vector<int> peak_in_flight;  // by stage
  std::string refusal;              // why it isn't legal under the caps; empty: it is
};

struct Comparison {
  std::vector<Compared> kinds;  // as `known_kinds`, those that the shape has
  // Only in the hairpin shape: the peaks in flight by stage with which hairpin-adaptive would be
  // within 1.03 of the bound (`depth_needed`); nothing if no depth was found.
  std::optional<std::vector<int>> depth_needed;
};

// hairpin-adaptive keeps within the caps; the others are as they are, and marked. Errors
// (bad_input): as `generate` and `to_costs`.
Result<Comparison> compare(const CompareOptions& options);

// As a table, or JSON: {"kinds": [{"kind", "makespan", "step", "lower_bound", "ratio",
// "peak_in_flight_by_stage", "legal", "refusal"}, ...], "depth_needed": [...] or null}.
Result<std::string> compare_report(const CompareOptions& options);

}  // namespace hairpin::schedule
