// What a run's steps followed, and why: one line of its schedule.jsonl (docs/runs.md). Pure
// functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

struct Record {
  std::int64_t from_step = 1;  // the first step that followed it
  std::string reason;          // a sentence for people, UTF-8
  Schedule schedule;
  std::optional<Times> times;  // what it was chosen for; none: before anything was measured
  // Microseconds by simulation, of the old and of the new order at these times; 0: unknown.
  double step_before = 0, step_predicted = 0;
  // As GenerateOptions have it: what the order had to keep within. Empty: nothing.
  std::vector<int> in_flight_cap;

  bool operator==(const Record&) const = default;
};

// A line is at most this long.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;

// One JSON object without a line end: from_step, reason, step_before, step_predicted, times (only
// if there are any), kind, microbatches, domains, edge_ranks, position_of_stage, split_backward,
// in_flight_cap, and ranks, the lists in the notation (notation.h).
std::string to_line(const Record& record);

// The inverse. Whatever is returned has a schedule that passes `check` and times that `to_costs`
// takes. Errors (bad_input): a line that is too long or isn't such an object, what those two
// refuse.
Result<Record> parse_record(std::string_view line);

}  // namespace hairpin::schedule
