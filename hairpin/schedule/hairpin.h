// Orders for the hairpin shape: the edge holds stage 0 (head) and stage pp (tail), the cloud rank
// at position p holds stage p. The edge exists once per replica, every cloud rank once per domain.
//
// Callers use generate.h, which checks the counts: here pp >= 2 and m >= 1.
#pragma once

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The (FE BS) pairs before the first BE: min(m, floor((4(pp+1)+1)/6)); docs/schedules.md derives
// it.
int leading_pairs(int pp, int m);

// Each at least 1.
struct Replicas {
  int domains = 1;
  int edges = 1;
};

// Edge: min(pp+1, m) x FS; leading_pairs x (FE BS); then units [FS] FE BS BE, the FS slot used only
// while microbatches remain; then the remaining BE. Cloud position p: min(pp-p, m) x F, F B, B.
// Over domains each unit repeats for domain 0..D-1 before the next unit. Edge replicas share that
// one list: each runs the ops of its own microbatches, in the list's order.
Schedule hairpin_1f1b(int pp, int m, const Replicas& replicas);

// Edge: all FS, all FE, all BS, all BE, each by microbatch, then domain, shared by replicas as
// above. Cloud: all F, all B.
Schedule hairpin_gpipe(int pp, int m, const Replicas& replicas);

// The hairpin's layout with empty lists.
Schedule empty_hairpin(const char* kind, int pp, int m, const Replicas& replicas);

}  // namespace hairpin::schedule
