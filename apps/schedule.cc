#include <fmt/core.h>

#include "apps/commands.h"
#include "hairpin/base/bytes.h"
#include "hairpin/base/file.h"
#include "hairpin/schedule/draw.h"

namespace hairpin::apps {
namespace {

Result<void> print(const Result<std::string>& text) {
  HAIRPIN_TRY(const auto made, text);
  fmt::print("{}", made);
  return {};
}

// One timeline or several, into those of the files that have a name.
template <class Timelines>
Result<void> draw(const Timelines& timelines, const std::filesystem::path& svg,
                  const std::filesystem::path& trace) {
  const bool page = svg.extension() == ".html";
  if (!svg.empty())
    HAIRPIN_CHECK_OK(write_file_atomic(
        svg, as_byte_span(page ? schedule::html_of(timelines) : schedule::svg_of(timelines))));
  if (!trace.empty())
    HAIRPIN_CHECK_OK(write_file_atomic(trace, as_byte_span(schedule::trace_of(timelines))));
  return {};
}

}  // namespace

Result<void> schedule_show(const schedule::ShowOptions& options) {
  return print(schedule::show(options));
}

Result<void> schedule_simulate(const ScheduleSimulateOptions& options) {
  HAIRPIN_TRY(const auto text, schedule::simulate_report(options));
  if (!options.svg.empty() || !options.trace.empty()) {
    HAIRPIN_TRY(const auto timeline, schedule::simulate_timeline(options));
    HAIRPIN_CHECK_OK(draw(timeline, options.svg, options.trace));
  }
  fmt::print("{}", text);
  return {};
}

Result<void> schedule_report(const ScheduleReportOptions& options) {
  HAIRPIN_TRY(const auto report, schedule::run_report(options));
  HAIRPIN_CHECK_OK(draw(report.timelines, options.svg, options.trace));
  fmt::print("{}", report.text);
  return {};
}

Result<void> schedule_compare(const schedule::CompareOptions& options) {
  return print(schedule::compare_report(options));
}

}  // namespace hairpin::apps
