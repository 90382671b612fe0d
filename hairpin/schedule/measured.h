// One step as a run's traces have it, laid on its schedule. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"
#include "hairpin/schedule/trace_file.h"

namespace hairpin::schedule {

// A frame on the link, as it came in. A receiver sees the first bytes of a frame only when they
// have crossed the line, so with traces of both ends a frame begins where the one before it ended,
// but not before it can have come: its sending and the least time that any frame's first bytes took
// in this step. Without a trace of the receiver: as it went out.
struct MeasuredFrame {
  std::string name;  // of the op whose result it carries
  bool up = false;
  double start = 0, end = 0;
};

// Microseconds from the start of the step's first op on.
struct MeasuredStep {
  // spans[rank][i] is when schedule.ranks[rank][i] ran; of a rank without a trace none.
  std::vector<std::vector<Span>> spans;
  std::vector<MeasuredFrame> frames;  // by start
  double makespan = 0;                // the end of the last op
  // What was added to the cloud's times, because its clock is not the edge's.
  double cloud_shift = 0;

  double busy(std::size_t rank) const;  // 0 without a trace
  double link_busy(bool up) const;      // while there is at least one frame
};

// How many whole steps all ranks in TRACES have.
Result<std::int64_t> traced_steps(const Schedule& schedule, const std::vector<TraceFile>& traces);

// Step STEP, from 1. The op that stands for the k-th time on a rank is step k's. Of a
// tensor-parallel group its first rank counts.
//
// Two sites' clocks differ. If an op on one site starts before the op on the other has ended whose
// result it reads, the cloud's times are moved: by the middle of what makes all such pairs
// possible, as if both directions took equally long. Otherwise they are left as they are.
//
// Errors (bad_input): a trace of another run, an op that is not in it STEP times.
Result<MeasuredStep> measured_step(const Schedule& schedule, const std::vector<TraceFile>& traces,
                                   std::int64_t step);

// The step's own medians, rounded, with `latency` as given. Error (bad_input): a stage without a
// trace.
Result<Times> median_times(const Schedule& schedule, const MeasuredStep& step,
                           std::int64_t latency);

}  // namespace hairpin::schedule
