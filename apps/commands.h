// The commands of `hairpin`, one file each. A command prints its result on standard output and
// returns the error to report; main.cc turns it into a line on standard error and an exit code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/hf/split.h"
#include "hairpin/schedule/command.h"
#include "hairpin/schedule/compare.h"
#include "hairpin/schedule/run_report.h"
#include "hairpin/train/evaluate.h"
#include "hairpin/train/generate.h"

namespace hairpin::apps {

// hairpin train|edge|cloud JOB [--set table.key=value]...
struct JobOptions {
  std::filesystem::path job;
  std::vector<std::string> set;
};
Result<void> train(const JobOptions& options);
Result<void> edge(const JobOptions& options);
Result<void> cloud(const JobOptions& options);

// hairpin eval MODEL --data FILE
struct EvalOptions {
  train::EvaluateOptions evaluate;
  bool json = false;
};
Result<void> eval(const EvalOptions& options);

// hairpin generate MODEL --prompt TEXT [--prompt TEXT]...
struct GenerateOptions {
  train::GenerateOptions generate;
  bool json = false;
};
Result<void> generate(const GenerateOptions& options);

// hairpin keys DIR
struct KeysOptions {
  std::filesystem::path directory;
  int days = 365;
};
Result<void> keys(const KeysOptions& options);

// hairpin convert split MODEL --layers ... --edge DIR --cloud DIR
Result<void> convert_split(const hf::SplitOptions& options);

// hairpin convert merge EDGE CLOUD --output DIR
struct MergeOptions {
  std::filesystem::path edge, cloud, output;
};
Result<void> convert_merge(const MergeOptions& options);

// hairpin audit log FILE
struct AuditLogOptions {
  std::filesystem::path log;
  bool json = false;
};
Result<void> audit_log(const AuditLogOptions& options);

// hairpin schedule show, hairpin schedule simulate, hairpin schedule compare, hairpin schedule
// report
struct ScheduleSimulateOptions : schedule::SimulateOptions {
  std::filesystem::path svg, trace;  // files to write, if not empty
};
struct ScheduleReportOptions : schedule::ReportOptions {
  std::filesystem::path svg, trace;
};
Result<void> schedule_show(const schedule::ShowOptions& options);
Result<void> schedule_simulate(const ScheduleSimulateOptions& options);
Result<void> schedule_compare(const schedule::CompareOptions& options);
Result<void> schedule_report(const ScheduleReportOptions& options);

}  // namespace hairpin::apps
