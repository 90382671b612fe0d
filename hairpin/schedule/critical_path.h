// The chain of ops and crossings that a simulation's end follows from. Pure, thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// One piece of the path.
struct Leg {
  enum class What { op, up, down, latency };  // up and down: a transfer
  What what = What::op;
  Place place;  // of an op; else of the op whose result crosses
  double start = 0, end = 0;
};

// From time 0 to the end of the last op without a gap, in order of time, without legs that take no
// time. Where an op could start at once both for its rank and for its input, the path stays on the
// rank. TIMED is SCHEDULE's replay.
std::vector<Leg> critical_path(const Schedule& schedule, const Replay& timed);

}  // namespace hairpin::schedule
