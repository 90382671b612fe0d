// The two-step rule that `hairpin-1f1b` comes from: take head and tail as two ranks of their own,
// order all pp + 1 stages as 1F1B, then merge the two lists into the edge's one. hairpin.h holds
// the closed form of the result; tests prove both equal. Pure functions, thread-safe.
#pragma once

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// Step one: 1F1B over pp + 1 ranks, the first being the head and the last the tail. One domain.
// pp >= 2, m >= 1 (as checked by `generate`).
Schedule logical_stages(int pp, int m);

// Step two. In the logical stages' timeline at unit times each pair (FE BS) of the tail ends a
// slot. BE goes into the slot it starts in, with the FS that follows it in the head's list; the FS
// before the first BE stand before all slots. A slot holding several ops orders them FS FE BS BE.
Schedule merge_logical(const Schedule& logical);

}  // namespace hairpin::schedule
