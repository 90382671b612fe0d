// What a run's directory says about its steps' order and times. Reads files; else as pure
// functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/record.h"
#include "hairpin/schedule/trace_file.h"

namespace hairpin::schedule {

struct RunFiles {
  std::vector<std::filesystem::path> sites;  // the folders that were found
  std::vector<Record> records;               // of the first site; both wrote the same
  std::vector<TraceFile> traces;             // of those sites that have one
  std::vector<std::string> missing;          // paths of traces that aren't there

  // What step STEP followed.
  const Record& record_of(std::int64_t step) const;
};

// RUN is the output.directory of a run, of one site or with its folders edge and cloud, or one of
// these. Errors (bad_input): no schedule.jsonl there, no trace.json (with the key that writes it),
// a file that can't be read.
Result<RunFiles> read_run(const std::filesystem::path& run);

// From metrics.jsonl. Unset: the step, or the number, isn't there.
struct StepLine {
  std::optional<double> step_seconds, rtt_seconds;
};
Result<StepLine> read_step_line(const std::filesystem::path& site, std::int64_t step);

}  // namespace hairpin::schedule
