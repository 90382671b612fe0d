// Traces of runs that never were, for tests: a schedule's replay, step after step, written down as
// its sites' traces would have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/trace_file.h"

namespace hairpin::schedule {

// The edge's and the cloud's, or a line's one. Steps begin at multiples of PAUSE from START on; the
// cloud's clock is AHEAD of the edge's.
inline std::vector<TraceFile> traces_of(const Schedule& schedule, const Costs& costs,
                                        std::int64_t steps, double start, double pause,
                                        double ahead) {
  const Replay timed = replay(schedule, costs);
  const Notation notation(schedule);
  const bool line = schedule.edge_ranks == 0;
  std::vector<TraceFile> traces(line ? 1 : 2);
  const auto site_of = [&](bool edge) -> TraceFile& { return traces[line || edge ? 0 : 1]; };
  constexpr int kSent = 100, kReceived = 101;
  for (TraceFile& trace : traces)
    trace.threads = {{kSent, "link sent"}, {kReceived, "link received"}};
  for (int rank = 0; rank < schedule.num_ranks(); ++rank) {
    const bool edge = schedule.is_edge(rank);
    const int pp = schedule.position_of(rank) - (edge || line ? 0 : 1);
    site_of(edge).threads[rank] = fmt::format("{} rank pp {}, dp {}, tp 0",
                                              line   ? "site"
                                              : edge ? "edge"
                                                     : "cloud",
                                              pp, schedule.replica_of(rank));
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const double begin = start + static_cast<double>(step) * pause;
    for (const Place& place : timed.order) {
      const Span& span = timed.spans[place.rank][place.position];
      const bool edge = schedule.is_edge(static_cast<int>(place.rank));
      const double at = begin + (edge || line ? 0 : ahead);
      site_of(edge).ops.push_back({notation.text(schedule.ranks[place.rank][place.position]),
                                   static_cast<int>(place.rank), at + span.start, at + span.end});
    }
    for (const Crossing& c : timed.crossings) {
      const double away = c.arrival - c.end;
      const TracedSpan sent{notation.text(c.op), kSent, begin + (c.up ? 0 : ahead) + c.start,
                            begin + (c.up ? 0 : ahead) + c.end, step + 1};
      TracedSpan received = sent;
      received.thread = kReceived;
      const double by = away + (c.up ? ahead : -ahead);
      received.start += by;
      received.end += by;
      site_of(c.up).link.push_back(sent);
      site_of(!c.up).link.push_back(received);
    }
  }
  return traces;
}

// TRACE as the file that parse_trace reads.
inline std::string trace_text(const TraceFile& trace) {
  std::string text = "{\"traceEvents\": [\n";
  for (const auto& [thread, name] : trace.threads)
    text +=
        fmt::format(R"({{"name": "thread_name", "ph": "M", "tid": {}, "args": {{"name": "{}"}}}},)"
                    "\n",
                    thread, name);
  const auto add = [&](const TracedSpan& span, const char* category, const std::string& arguments) {
    text += fmt::format(
        R"({{"name": "{}", "cat": "{}", "ph": "X", "ts": {}, "dur": {}, "tid": {}, "args": {{{}}}}},)"
        "\n",
        span.name, category, span.start, span.end - span.start, span.thread, arguments);
  };
  for (const auto& span : trace.ops) add(span, "op", "");
  for (const auto& span : trace.link) add(span, "link", fmt::format("\"step\": {}", span.step));
  return text +
         fmt::format("{{\"name\": \"x\", \"ph\": \"I\"}}], \"dropped\": {}}}", trace.dropped);
}

}  // namespace hairpin::schedule
