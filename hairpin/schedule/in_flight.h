// How many microbatches are held at once: what activation memory and queue bounds follow from.
// A microbatch is in flight on a stage from the start of its forward to the end of its backward, of
// a split one the end of the input gradient; from there to the end of the weights' op its weights'
// gradients are pending. That depends on the order of a rank's list only, not on times. Pure
// functions, thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// All count microbatches of all domains that a rank serves. Ops must be in range and on their
// rank.
struct PeakInFlight {
  std::vector<int> stage;            // by logical stage; the largest of its ranks
  std::vector<int> rank;             // by rank: a microbatch held by head and tail counts once
  std::vector<int> pending_weights;  // by stage; the largest of its ranks
  std::vector<int> held;             // by stage: in flight or pending, at one time
};
PeakInFlight peak_in_flight(const Schedule& schedule);

}  // namespace hairpin::schedule
