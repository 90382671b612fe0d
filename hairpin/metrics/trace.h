// trace.json: who did what when, for chrome://tracing and ui.perfetto.dev (the Trace Event Format's
// complete events, "ph": "X").
//
// A site's process is one `pid`, a rank one `tid`; times are microseconds since 1970, so that the
// files of two sites can be laid beside each other as well as their clocks agree. The spans of one
// thread nest or follow each other; what runs beside a rank (its communication) takes a thread
// number of its own. Events are kept in memory, some 150 bytes each, until `write`; when there are
// too many the later ones are dropped, and the file and the log say how many.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::metrics {

using TraceClock = std::chrono::steady_clock;

struct TraceArgument {
  const char* name = nullptr;  // a literal; null: no argument
  std::int64_t value = 0;
};

struct TraceEvent {
  std::string name;           // "F", "all_reduce"
  const char* category = "";  // a literal: "op", "tp", "dp", "pp", "link"
  int thread = 0;
  TraceClock::time_point begin, end;
  std::array<TraceArgument, 4> arguments{};  // "microbatch", "bytes", ...
};

struct TraceOptions {
  int process = 0;
  std::string process_name;  // "edge"
  std::size_t max_events = 1'000'000;
  // What the system's clock is ahead of TraceClock; default: measured at the recorder's making.
  std::optional<std::chrono::nanoseconds> clock_offset;
};

// Thread-safe. A run without a trace has no recorder: spans take a null pointer.
class Trace {
 public:
  explicit Trace(TraceOptions options);

  void name_thread(int thread, std::string name);  // "cloud rank pp 1, dp 0, tp 2"
  void add(TraceEvent event);

  // Everything so far, atomically. Fails when the file cannot be written.
  Result<void> write(const std::filesystem::path& path) const;

 private:
  std::string event_text(const TraceEvent& event) const;
  std::string names_text() const;

  const TraceOptions options_;
  mutable std::mutex mutex_;
  std::deque<TraceEvent> events_;
  std::map<int, std::string> thread_names_;
  std::uint64_t dropped_ = 0;
};

// Records the time between its beginning and its end. Belongs to one thread; without a recorder it
// does nothing.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, int thread, std::string_view name, const char* category) : trace_(trace) {
    if (trace_ != nullptr) begin(thread, name, category);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (trace_ != nullptr) end();
  }

  // At most four.
  void argument(const char* name, std::int64_t value) {
    if (trace_ != nullptr) add_argument({name, value});
  }

 private:
  void begin(int thread, std::string_view name, const char* category);
  void add_argument(TraceArgument argument);
  void end();

  Trace* const trace_;
  std::size_t num_arguments_ = 0;
  std::optional<TraceEvent> event_;
};

}  // namespace hairpin::metrics
