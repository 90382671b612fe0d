// The split form of a schedule: each backward in two, its weights' part filling waiting time. Pure,
// thread-safe.
#pragma once

#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// Marks every stage as split but the first: nobody waits for the gradient of its input, so cutting
// its backward could only hold memory for longer.
void mark_split(Schedule& layout);

// WHOLE with its stages marked: forwards and input gradients in the order that forwards and
// backwards had. A rank makes the weights' gradients, in ascending order, when its next op isn't
// ready, or when PENDING of them (by stage, at least 1) wait; what is left at the end of its list.
// When to begin one before an op that is already on the link is tried in a few ways, and all of
// them right after their input gradients, too; the shortest step by replay is kept, of equals the
// shortest makespan. WHOLE and the costs have passed their checks.
Schedule split_weights(const Schedule& whole, const Costs& costs, const std::vector<int>& pending);

}  // namespace hairpin::schedule
