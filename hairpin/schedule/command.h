// What `hairpin schedule show` and `hairpin schedule simulate` print: one value in, one text out.
// Pure functions, thread-safe. Every text ends with a line feed. (`compare`: compare.h.)
#pragma once

#include <string>

#include "hairpin/base/result.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/time_options.h"
#include "hairpin/schedule/timeline.h"

namespace hairpin::schedule {

struct ShowOptions {
  std::string kind;
  GenerateOptions generate;  // its times aren't read
  TimeOptions times;         // what hairpin-adaptive and split backwards follow
  bool logical =
      false;  // the pp + 1 logical stages before merging; hairpin-1f1b, one domain and edge only
  bool json = false;
};
// Text: one line a rank. JSON: {"ranks": [["FS1", ...], ...]}; with `logical` the lists are the
// logical stages in model order, the head first and the tail last.
Result<std::string> show(const ShowOptions& options);

struct SimulateOptions {
  std::string kind;
  GenerateOptions generate;  // its times aren't read
  TimeOptions times;
  bool json = false;
};
// JSON: kind, pp, microbatches, domains, edges (0 on a line), latency, makespan, step, lower_bound,
// mean_bubble, and by rank busy, bubble, peak_in_flight, and by stage peak_in_flight_by_stage,
// pending_weights_by_stage; link_busy_up, link_busy_down; critical_path (parts of the makespan by
// rank, link direction and latency); depth_needed (of hairpin-adaptive further than 1.03 from the
// bound, else null); advice and improvements (advice.h). Text: the same as a table.
// Errors (bad_input): as `generate` and `to_costs` of the time options.
Result<std::string> simulate_report(const SimulateOptions& options);

// The same simulation to be drawn (draw.h).
Result<Timeline> simulate_timeline(const SimulateOptions& options);

}  // namespace hairpin::schedule
