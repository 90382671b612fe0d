// Orders for the hairpin shape: the edge holds stage 0 (head) and stage pp (tail), the cloud rank
// at position p holds stage p. The edge exists once per replica, every cloud rank once per domain.
//
// Callers use generate.h, which checks the counts: here pp >= 2 and m >= 1.
#pragma once

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// K, the (FE BS) pairs before the first BE with m large: floor((4(pp+1)+1)/6); docs/schedules.md
// derives it.
int leading_pairs(int pp);

// Each at least 1; at most m * domains edges.
struct Replicas {
  int domains = 1;
  int edges = 1;
};

// Each edge replica, over its own microbatches in the order of their numbers:
//   1. W x FS,      W = P + ceil((pp + 1 - K) * domains / edges)
//   2. P x (FE BS), P = ceil(K * domains / edges)
//   3. units [FS] FE BS BE, the FS slot used only while microbatches remain
//   4. the remaining BE
// W and P are at most the replica's microbatches. One replica of one domain so runs the reference
// order, and one replica of several domains repeats each unit for domain 0..D-1.
// Cloud position p: min(pp-p, m) x F, then F B while forwards remain, then B.
Schedule hairpin_1f1b(int pp, int m, const Replicas& replicas);

// Each edge replica, over its own microbatches: all FS, all FE, all BS, all BE. Cloud: all F, then
// all B.
Schedule hairpin_gpipe(int pp, int m, const Replicas& replicas);

// The hairpin's layout with empty lists.
Schedule empty_hairpin(const char* kind, int pp, int m, const Replicas& replicas);

}  // namespace hairpin::schedule
