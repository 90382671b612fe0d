// A run's directory: resolved.toml, metrics.jsonl, schedule.jsonl, trace.json if asked for, and
// what the run adds (export/, egress.jsonl).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/metrics/line_file.h"
#include "hairpin/metrics/sink.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/schedule/record.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

class RunDirectory {
 public:
  // Creates the site's output directory, which must be new or empty, and in it resolved.toml and
  // schedule.jsonl with the schedule that the run begins with.
  // `progress` shows a progress line on standard error, and at the end what memory was needed.
  static Result<RunDirectory> create(const Setup& setup, bool progress);

  RunDirectory() = default;
  RunDirectory(RunDirectory&&) = default;
  RunDirectory& operator=(RunDirectory&&) = default;
  ~RunDirectory();  // finishes, also when the run ended early

  Result<void> record(const metrics::StepRecord& record);
  // A line of schedule.jsonl: what the steps from one on follow.
  Result<void> record(const schedule::Record& record);
  // No record follows, nor a span. Later calls do nothing.
  Result<void> finish();

  metrics::Trace* trace() { return trace_.get(); }  // null unless output.trace

  std::filesystem::path export_directory() const { return path_ / "export"; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<std::unique_ptr<metrics::Sink>> sinks_;
  std::optional<metrics::LineFile> schedule_;
  std::unique_ptr<metrics::Trace> trace_;
};

}  // namespace hairpin::train
