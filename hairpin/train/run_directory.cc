#include "hairpin/train/run_directory.h"

#include <cstdio>
#include <utility>

#include "hairpin/base/file.h"
#include "hairpin/metrics/json_lines.h"
#include "hairpin/metrics/memory_table.h"
#include "hairpin/metrics/progress.h"

namespace hairpin::train {

Result<RunDirectory> RunDirectory::create(const Setup& setup, bool progress) {
  RunDirectory directory;
  directory.path_ = setup.output_directory();
  HAIRPIN_CHECK_OK(create_output_directory(directory.path_, "output.directory"));
  HAIRPIN_CHECK_OK(write_file_atomic(directory.path_ / "resolved.toml",
                                     as_byte_span(config::resolved_toml(setup.job))));
  HAIRPIN_TRY(auto lines, metrics::JsonLinesSink::create(directory.path_ / "metrics.jsonl"));
  directory.sinks_.push_back(std::move(lines));
  HAIRPIN_TRY(directory.schedule_, metrics::LineFile::create(directory.path_ / "schedule.jsonl"));
  HAIRPIN_CHECK_OK(
      directory.record(schedule::Record{.reason = "what the run began with",
                                        .schedule = setup.schedule,
                                        .in_flight_cap = setup.schedule_options().in_flight_cap}));
  if (progress) {
    const auto show = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
    directory.sinks_.push_back(std::make_unique<metrics::Progress>(
        metrics::progress_options(stderr, setup.job.train.steps), show));
    directory.sinks_.push_back(std::make_unique<metrics::MemorySummary>(show));
  }
  if (setup.job.output.trace)
    directory.trace_ = std::make_unique<metrics::Trace>(
        metrics::TraceOptions{.process = setup.part == Part::cloud ? 1 : 0,
                              .process_name = std::string(part_name(setup.part))});
  return directory;
}

RunDirectory::~RunDirectory() { (void)finish(); }

Result<void> RunDirectory::record(const metrics::StepRecord& record) {
  for (const auto& sink : sinks_) HAIRPIN_CHECK_OK(sink->write(record));
  return {};
}

Result<void> RunDirectory::record(const schedule::Record& record) {
  return schedule_.value().write(schedule::to_line(record));
}

Result<void> RunDirectory::finish() {
  const auto sinks = std::exchange(sinks_, {});
  for (const auto& sink : sinks) HAIRPIN_CHECK_OK(sink->finish());
  if (schedule_) HAIRPIN_CHECK_OK(schedule_->finish());
  const auto trace = std::exchange(trace_, nullptr);
  return trace ? trace->write(path_ / "trace.json") : Result<void>();
}

}  // namespace hairpin::train
