// A step as bars on lanes: what drawings and traces are made of, simulated or measured. Pure,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/measured.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

struct Bar {
  enum class What { forward, backward, weights, transfer };
  What what = What::forward;
  std::string name;  // as the notation has it
  double start = 0, end = 0;
  double slack = 0;       // how late it may be (slack.h); of a transfer always 0
  bool critical = false;  // on the critical path
};

struct Lane {
  std::string name;  // "cloud 2", "link down"
  std::vector<Bar> bars;
};

struct Timeline {
  std::string title;
  std::vector<Lane> lanes;
  double end = 0;
  std::string unit;       // of all times, then shown as whole numbers; empty: any
  bool measured = false;  // there is no slack and no critical path
};

// A lane for each rank, and one for each direction of the link that anything crosses. TIMED is
// SCHEDULE's replay at COSTS.
Timeline timeline_of(const Schedule& schedule, const Costs& costs, const Replay& timed);

// The same lanes for a step as it was; those of ranks without a trace are empty.
Timeline timeline_of(const Schedule& schedule, const MeasuredStep& step);

}  // namespace hairpin::schedule
