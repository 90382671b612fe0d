// What `hairpin schedule report` prints and draws: a step of a run as it was, beside its
// simulation. Reads the run's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/timeline.h"

namespace hairpin::schedule {

struct ReportOptions {
  std::filesystem::path run;         // its output.directory, or a site's folder
  std::optional<std::int64_t> step;  // default: the last one that is in the traces
  bool json = false;
};

struct RunReport {
  std::string text;
  std::vector<Timeline> timelines;  // measured, simulated
};

// The simulation is of the schedule that the step followed, at the times that it was chosen for;
// where there were none, at the step's own medians and half the round trip in metrics.jsonl.
// JSON, times in microseconds: step, steps (in the traces), kind, reason, measured_makespan,
// measured_step (of metrics.jsonl; null: not there), simulated_makespan, simulated_step,
// lower_bound, agreed_times (false: medians), cloud_clock_shift, ranks and link (name,
// busy_measured, busy_simulated: parts of the makespan; measured null: no trace), critical_path,
// busy, advice, missing_traces, dropped_spans. Text: the same as a table.
// Errors (bad_input): as `read_run` and `measured_step`.
Result<RunReport> run_report(const ReportOptions& options);

}  // namespace hairpin::schedule
