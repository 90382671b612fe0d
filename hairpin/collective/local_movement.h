// How the local backend moves data among the buffers of its ranks.
#pragma once

#include <cstdint>

#include "hairpin/collective/local_meeting.h"
#include "hairpin/collective/operation.h"

namespace hairpin::collective {

// Carries out `call` for `rank`: meets the others, then does this rank's part. Returns the bytes it
// read from others. Throws Aborted, or a failed check when calls don't fit together.
std::uint64_t carry_out(Meeting& meeting, int rank, const Operation& call);

}  // namespace hairpin::collective
