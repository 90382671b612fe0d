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

}  // namespace

Result<void> schedule_show(const schedule::ShowOptions& options) {
  return print(schedule::show(options));
}

Result<void> schedule_simulate(const ScheduleSimulateOptions& options) {
  HAIRPIN_TRY(const auto text, schedule::simulate_report(options));
  if (!options.svg.empty() || !options.trace.empty()) {
    HAIRPIN_TRY(const auto timeline, schedule::simulate_timeline(options));
    const bool page = options.svg.extension() == ".html";
    if (!options.svg.empty())
      HAIRPIN_CHECK_OK(write_file_atomic(
          options.svg,
          as_byte_span(page ? schedule::html_of(timeline) : schedule::svg_of(timeline))));
    if (!options.trace.empty())
      HAIRPIN_CHECK_OK(
          write_file_atomic(options.trace, as_byte_span(schedule::trace_of(timeline))));
  }
  fmt::print("{}", text);
  return {};
}

Result<void> schedule_compare(const schedule::CompareOptions& options) {
  return print(schedule::compare_report(options));
}

}  // namespace hairpin::apps
