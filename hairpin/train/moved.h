// What moved between the ranks of a site, by axis of the mesh.
#pragma once

#include <cstdint>

namespace hairpin::train {

// Bytes that ranks got from others since the run began. What is under way at a step's scalars (the
// parameters that ZeRO gathers after the update) counts to the next step.
struct Moved {
  std::uint64_t tp = 0, dp = 0, pp = 0;

  Moved& operator+=(const Moved& other) {
    tp += other.tp;
    dp += other.dp;
    pp += other.pp;
    return *this;
  }
};

}  // namespace hairpin::train
