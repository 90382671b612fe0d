// Orders for a line of ranks, one stage a rank. Each domain has its own copy of the line: data
// parallelism on one site.
//
// Callers use generate.h, which checks the counts: here pp, m and domains are at least 1.
#pragma once

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// All forwards, then all backwards, both ascending (Huang et al., GPipe, 2019; ascending backwards
// so that gradients are added in microbatch order under every schedule).
Schedule line_gpipe(int pp, int m, int domains);

// Rank r: warm-up min(pp-1-r, m) x F, then F B while forwards remain, then B (Narayanan et al.,
// Memory-Efficient Pipeline-Parallel DNN Training, 2021; the order of Megatron-LM).
Schedule line_1f1b(int pp, int m, int domains);

// The line's layout with empty lists.
Schedule empty_line(const char* kind, int pp, int m, int domains);

// One rank's list in the 1F1B order with `warmup` forwards before the first pair (at most m).
std::vector<Op> one_forward_one_backward(int stage, int domain, int warmup, int m);

// One rank's list with all forwards first.
std::vector<Op> forwards_then_backwards(int stage, int domain, int m);

}  // namespace hairpin::schedule
