#include "hairpin/metrics/trace.h"

#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/base/log.h"
#include "hairpin/metrics/json_text.h"

namespace hairpin::metrics {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kWriteSize = std::size_t{1} << 20;

nanoseconds measured_offset() {
  return std::chrono::system_clock::now().time_since_epoch() - TraceClock::now().time_since_epoch();
}

TraceOptions settled(TraceOptions options) {
  if (!options.clock_offset) options.clock_offset = measured_offset();
  return options;
}

// A double cannot hold nanoseconds since 1970; the text can.
std::string microseconds(nanoseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

}  // namespace

Trace::Trace(TraceOptions options) : options_(settled(std::move(options))) {}

void Trace::name_thread(int thread, std::string name) {
  const std::lock_guard lock(mutex_);
  thread_names_[thread] = std::move(name);
}

void Trace::add(TraceEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.size() < options_.max_events) {
      events_.push_back(std::move(event));
      return;
    }
    if (dropped_++ > 0) return;
  }
  log::warning("trace: {} events are all that is kept; trace.json will lack what follows",
               options_.max_events);
}

std::string Trace::names_text() const {
  const auto named = [&](const char* what, int thread, const std::string& name) {
    return fmt::format(
        R"({{"name": "{}", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", what,
        options_.process, thread, json_text(name));
  };
  auto out = named("process_name", 0, options_.process_name);
  for (const auto& [thread, name] : thread_names_)
    out += ",\n" + named("thread_name", thread, name);
  return out;
}

std::string Trace::event_text(const TraceEvent& event) const {
  const auto since_epoch = nanoseconds(event.begin.time_since_epoch()) + *options_.clock_offset;
  auto out = fmt::format(
      R"({{"name": {}, "cat": "{}", "ph": "X", "ts": {}, "dur": {}, "pid": {}, "tid": {}, "args": {{)",
      json_text(event.name), event.category, microseconds(since_epoch),
      microseconds(event.end - event.begin), options_.process, event.thread);
  const char* separator = "";
  for (const auto& [name, value] : event.arguments)
    if (name != nullptr)
      out += fmt::format("{}\"{}\": {}", std::exchange(separator, ", "), name, value);
  return out + "}}";
}

Result<void> Trace::write(const std::filesystem::path& path) const {
  const std::lock_guard lock(mutex_);
  HAIRPIN_TRY(auto file, AtomicFile::create(path));
  auto text = "{\"traceEvents\": [\n" + names_text();
  for (const auto& event : events_) {
    text += ",\n" + event_text(event);
    if (text.size() < kWriteSize) continue;
    HAIRPIN_CHECK_OK(file.write(as_byte_span(text)));
    text.clear();
  }
  text += fmt::format("\n],\n\"dropped\": {}}}\n", dropped_);
  HAIRPIN_CHECK_OK(file.write(as_byte_span(text)));
  return file.commit();
}

void TraceSpan::begin(int thread, std::string_view name, const char* category) {
  event_.emplace(TraceEvent{.name = std::string(name), .category = category, .thread = thread});
  event_->begin = TraceClock::now();
}

void TraceSpan::add_argument(TraceArgument argument) {
  HAIRPIN_CHECK(num_arguments_ < event_->arguments.size(), "span {} has too many arguments",
                event_->name);
  event_->arguments[num_arguments_++] = argument;
}

void TraceSpan::end() {
  event_->end = TraceClock::now();
  trace_->add(std::move(*event_));
}

}  // namespace hairpin::metrics
