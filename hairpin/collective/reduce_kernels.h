// The arithmetic of reductions.
#pragma once

#include <cstdint>
#include <span>

#include "hairpin/collective/group.h"

namespace hairpin::collective {

// out[i] = the reduction of sources[0][i], sources[1][i], ... in that order, i < count. `out` may
// be one of the sources, which are arrays of its type; otherwise it overlaps none. At least one
// source. In max a NaN wins.
void reduce_in_order(float* out, std::span<const void* const> sources, std::int64_t count,
                     Reduction reduction);
void reduce_in_order(double* out, std::span<const void* const> sources, std::int64_t count,
                     Reduction reduction);

}  // namespace hairpin::collective
