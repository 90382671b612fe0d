// What stages took in a step, as the sites tell each other. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "hairpin/pipeline/executor.h"
#include "hairpin/wire/message.h"

namespace hairpin::train {

// Of a rank's stages, ascending: the median over the step's microbatches of each kind of op, of an
// even number the lesser; at least a microsecond. OPS are one step's.
std::vector<wire::StageTime> stage_times(const std::vector<pipeline::OpTime>& ops);

// Of each stage the slower of both, time by time.
void join_slowest(std::vector<wire::StageTime>& joined, const std::vector<wire::StageTime>& other);

}  // namespace hairpin::train
