// Orders for the hairpin shape: the edge (rank 0) holds stage 0 (head) and stage pp (tail), cloud
// rank r holds stage r, and every cloud rank exists once per domain.
//
// Callers use generate.h, which checks the counts: here pp >= 2, m >= 1, domains >= 1.
#pragma once

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The (FE BS) pairs before the first BE: min(m, floor((4(pp+1)+1)/6)); docs/schedules.md derives
// it.
int leading_pairs(int pp, int m);

// Edge: min(pp+1, m) x FS; leading_pairs x (FE BS); then units [FS] FE BS BE, the FS slot used only
// while microbatches remain; then the remaining BE. Cloud rank r: min(pp-r, m) x F, F B, B.
// Over domains each unit repeats for domain 0..D-1 before the next unit.
Schedule hairpin_1f1b(int pp, int m, int domains);

// Edge: all FS, all FE, all BS, all BE, each by microbatch, then domain. Cloud: all F, all B.
Schedule hairpin_gpipe(int pp, int m, int domains);

// The hairpin's layout with empty lists.
Schedule empty_hairpin(const char* kind, int pp, int m, int domains);

}  // namespace hairpin::schedule
