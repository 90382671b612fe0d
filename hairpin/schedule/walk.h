// Running a schedule's lists against each other: in which order all ranks can get through.
#pragma once

#include <cstddef>
#include <functional>

#include "hairpin/base/result.h"
#include "hairpin/schedule/op_index.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// Calls `visit(rank, position, op)` for every op, each after the ops before it on its rank and
// after its data dependency. The order between ranks is otherwise unspecified. Sends never block.
// Precondition: every op stands exactly once, on its rank (the checker proves it first).
// Error (bad_input): a deadlock, naming the ops that wait for each other.
Result<void> walk(const Schedule& schedule,
                  const std::function<void(int rank, std::size_t position, const Op& op)>& visit);

}  // namespace hairpin::schedule
