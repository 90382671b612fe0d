// Schedules by name. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

// line: position p of the pipeline holds stage p. hairpin: position 0, the edge, holds the first
// and the last stage.
enum class Shape { line, hairpin };

struct GenerateOptions {
  int pp = 0;                  // pipeline ranks; in the hairpin shape the edge is one of them
  int microbatches = 0;        // per domain
  int domains = 1;             // data-parallel replicas of every rank but the edge
  int edges = 1;               // data-parallel replicas of the edge; a line has no edge and takes 1
  std::optional<Shape> shape;  // default: hairpin for the `hairpin-*` kinds, else line
  // Each backward in two (split.h); zb-h1 is so always.
  bool split_backward = false;
  // What hairpin-adaptive and the place of a split backward's ops follow; nothing else reads it.
  // Default: `unit_times`, without latency.
  std::optional<Times> times;
  // As CheckOptions has them: one number for all stages, or one each. Microbatches in flight,
  // default: no cap. Pending weights' gradients of a split backward, default: pp.
  std::vector<int> in_flight_cap, pending_weights_cap;
};

// The kinds that `generate` knows, as below.
std::span<const std::string> known_kinds();

//   gpipe             line or hairpin; all forwards, then all backwards
//   1f1b              line; one forward, one backward (Narayanan et al., PipeDream-Flush)
//   zb-h1             line; 1f1b with a split backward, in no more memory (Qi et al., Zero Bubble
//                     Pipeline Parallelism, 2023): rank r keeps at most r + 1 pending weights
//   hairpin-1f1b      hairpin, pp >= 2; see hairpin.h and docs/schedules.md
//   hairpin-adaptive  hairpin, pp >= 2; see adaptive.h. Never slower at the times given than gpipe
//                     or hairpin-1f1b, if that keeps within the caps
// Any microbatches >= 1, domains >= 1 and edges from 1 to microbatches * domains. On every rank the
// backwards of a stage ascend by microbatch, then domain. Whatever is returned passes `check`.
// Errors (bad_input): unknown kind (with the nearest known one) or one that isn't built yet, a
// count below its least, a shape the kind has no order for, more than kMaxOps ops, edge replicas
// without a microbatch or on a line; a cap below one, times that `to_costs` refuses, a kind of
// fixed depth that exceeds a cap (with the first op that does).
Result<Schedule> generate(std::string_view kind, const GenerateOptions& options);

// OPTIONS with its caps in full: one number a stage, the default for pending weights filled in.
// Error (bad_input): a cap below one, a list of another length.
Result<GenerateOptions> with_caps_by_stage(std::string_view kind, const Schedule& layout,
                                           GenerateOptions options);

// The same schedule's layout, its lists empty: what times are given for. Times and caps in OPTIONS
// aren't read. Errors (bad_input): as `generate`, of what is read.
Result<Schedule> layout_of(std::string_view kind, const GenerateOptions& options);

}  // namespace hairpin::schedule
