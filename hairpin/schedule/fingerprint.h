// A short name for an order of ops, by which two sites know that they run the same. Pure,
// thread-safe.
#pragma once

#include <cstdint>

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The first 8 bytes, little-endian, of the SHA-256 of `ops_json` of all ranks.
std::uint64_t fingerprint(const Schedule& schedule);

}  // namespace hairpin::schedule
