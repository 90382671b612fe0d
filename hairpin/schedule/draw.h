// A timeline as a drawing or a trace. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "hairpin/schedule/timeline.h"

namespace hairpin::schedule {

// One SVG document that needs nothing else: a row a lane, a bar an op, its name where it fits,
// name, times and slack as its tooltip, the critical path outlined. Names are escaped. A timeline
// without duration is drawn empty.
std::string svg_of(const Timeline& timeline);

// Several above each other on one scale of time.
std::string svg_of(const std::vector<Timeline>& timelines);

// The same as an HTML page, without scripts.
std::string html_of(const Timeline& timeline);
std::string html_of(const std::vector<Timeline>& timelines);

// Chrome's trace event format (chrome://tracing, Perfetto): a thread a lane, a complete event a
// bar, a unit of time being a microsecond.
std::string trace_of(const Timeline& timeline);
// A process a timeline, named like it.
std::string trace_of(const std::vector<Timeline>& timelines);

}  // namespace hairpin::schedule
