// How many microbatches are held at once: what activation memory and queue bounds follow from.
// A microbatch is in flight on a stage from the start of its forward to the end of its backward.
// That depends on the order of a rank's list only, not on times. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// Both count microbatches of all domains that a rank serves. Ops must be in range and on their
// rank.
struct PeakInFlight {
  std::vector<int> stage;  // by logical stage; the largest of its ranks
  std::vector<int> rank;   // by rank: a microbatch held by head and tail counts once
};
PeakInFlight peak_in_flight(const Schedule& schedule);

}  // namespace hairpin::schedule
