// A list scheduler: ranks and link run in time (event_loop.h), and a rank that is free takes the
// first op of a fixed order of preference that is ready and keeps within its limits. What comes out
// is an order of ops that can be run as is. Pure, thread-safe.
#pragma once

#include <array>
#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// What an edge prefers among what is ready; the cloud prefers backwards to forwards.
enum class EdgeOp { fs, fe, bs, be };

struct ListRules {
  // By stage: the most microbatches in flight, and the most pending weight gradients of a split
  // stage. Each at least 1.
  std::vector<int> depth, pending;
  std::array<EdgeOp, 4> preference = {EdgeOp::bs, EdgeOp::fe, EdgeOp::be, EdgeOp::fs};
  // A rank waits for an op it prefers that is already on the link, if by starting another one it
  // would keep it waiting for more than this part of that other op. 1: it never waits.
  double patience = 1;
};

struct ListRun {
  std::vector<std::vector<Op>> ranks;  // as Schedule::ranks
  double makespan = 0, step = 0;       // as Replay has them
  std::vector<int> peak;               // by stage: the most microbatches in flight
};

// Every microbatch passes every stage in ascending order (microbatch, then domain), forwards and
// backwards. LAYOUT's lists aren't read; it and the costs have passed their checks. No rules
// deadlock: the lowest microbatch that isn't done can always go on.
ListRun list_schedule(const Schedule& layout, const Costs& costs, const ListRules& rules);

}  // namespace hairpin::schedule
