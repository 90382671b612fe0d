// What `hairpin schedule show` and `hairpin schedule simulate` print: one value in, one text out.
// Pure functions, thread-safe. Every text ends with a line feed.
#pragma once

#include <optional>
#include <string>

#include "hairpin/base/result.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {

struct ShowOptions {
  std::string kind;
  GenerateOptions generate;
  bool logical =
      false;  // the pp + 1 logical stages before merging; hairpin-1f1b, one domain and edge only
  bool json = false;
};
// Text: one line a rank. JSON: {"ranks": [["FS1", ...], ...]}; with `logical` the lists are the
// logical stages in model order, the head first and the tail last.
Result<std::string> show(const ShowOptions& options);

struct SimulateOptions {
  std::string kind;
  GenerateOptions generate;
  double latency = 0;  // one way, between edge and cloud
  // Default: the spec's unit times, 1 1 2 2 2 4. `f` and `b` are a cloud stage's, or any stage's on
  // a line of ranks, which has none of the other four.
  std::optional<double> fs, fe, bs, be, f, b;
  bool json = false;
};
// JSON: kind, pp, microbatches, domains, edges (0 on a line), latency, makespan, lower_bound,
// mean_bubble, and by rank busy, bubble, peak_in_flight, and by stage peak_in_flight_by_stage.
// Text: the same as a table. Errors (bad_input): as `generate` and `check_costs`; a time the shape
// has no op for.
Result<std::string> simulate_report(const SimulateOptions& options);

}  // namespace hairpin::schedule
