// A run's trace.json (metrics/trace.h writes it), read back. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::schedule {

struct TracedSpan {
  std::string name;  // an op in the notation
  int thread = 0;
  double start = 0, end = 0;  // microseconds since 1970 by the site's clock, to a quarter of one
  std::int64_t step = 0;      // from 1, of a frame on the link; 0: not said
};

struct TraceFile {
  std::map<int, std::string> threads;  // "cloud rank pp 0, dp 0, tp 0", "link sent"
  std::vector<TracedSpan> ops, link;   // as they ended
  std::int64_t dropped = 0;            // spans that came too late to be kept
};

// The spans of category op and link. `where` names the file for messages. Errors (bad_input): a
// text that isn't such a trace.
Result<TraceFile> parse_trace(std::string_view text, std::string_view where);

}  // namespace hairpin::schedule
