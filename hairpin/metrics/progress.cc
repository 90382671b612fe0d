#include "hairpin/metrics/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hairpin::metrics {
namespace {

constexpr const char* kClearLine = "\r\x1b[K";
constexpr double kMaxShownSeconds = 360'000.0;  // a hundred hours

}  // namespace

ProgressOptions progress_options(std::FILE* stream, std::int64_t steps) {
  ProgressOptions options{.steps = steps, .terminal = ::isatty(::fileno(stream)) == 1};
  winsize size{};
  if (options.terminal && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    options.columns = size.ws_col;
  return options;
}

std::string clock_text(double seconds) {
  if (!(seconds < kMaxShownSeconds)) return "long";
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  const auto minutes = whole / 60;
  if (minutes < 60) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

Progress::Progress(ProgressOptions options, Write write)
    : options_(options), write_(std::move(write)) {}

std::string Progress::line(const StepRecord& record) const {
  auto out = fmt::format("step {}/{}", record.step, options_.steps);
  if (record.skipped)
    out += fmt::format("  skipped: {}", reason_of(*record.skipped));
  else if (record.loss)
    out += fmt::format("  loss {:.4f}", *record.loss);
  out += fmt::format("  {:.0f} tokens/s", record.tokens_per_second);
  const auto link_bytes = static_cast<double>(record.link_bytes_up + record.link_bytes_down);
  if (link_bytes > 0 && record.step_seconds > 0)
    out += fmt::format("  link {:.1f} MB/s", link_bytes / record.step_seconds / 1e6);
  const auto left = static_cast<double>(options_.steps - record.step);
  return out + "  ETA " + clock_text(left * seconds_ / static_cast<double>(records_));
}

Result<void> Progress::write(const StepRecord& record) {
  ++records_;
  seconds_ += record.step_seconds;
  if (options_.terminal) {
    redraw(line(record));
    if (record.skipped) interrupt();
  } else {
    plain(record, line(record));
  }
  return {};
}

void Progress::redraw(const std::string& line) {
  const auto room = static_cast<std::size_t>(std::max(options_.columns - 1, 1));
  write_(kClearLine + line.substr(0, room));
  drawn_ = true;
}

void Progress::plain(const StepRecord& record, const std::string& line) {
  const bool due = records_ == 1 || record.skipped || record.step >= options_.steps ||
                   seconds_ - shown_seconds_ >= options_.every_seconds;
  pending_ = due ? "" : line + "\n";
  if (!due) return;
  write_(line + "\n");
  shown_seconds_ = seconds_;
}

void Progress::interrupt() {
  if (std::exchange(drawn_, false)) write_("\n");
}

Result<void> Progress::finish() {
  interrupt();
  if (!pending_.empty()) write_(std::exchange(pending_, ""));
  return {};
}

}  // namespace hairpin::metrics
