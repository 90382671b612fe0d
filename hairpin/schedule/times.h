// Measured costs as both sites agree on them: whole microseconds, so that both compute the same
// schedule from them, on any machine. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// A time is at most this, so that the sums over a step's ops stay exact in a double.
inline constexpr std::int64_t kMaxMicroseconds = 1'000'000'000;

struct TransferTimes {
  std::int64_t activation = 0, gradient = 0;  // of one microbatch of one domain
  bool operator==(const TransferTimes&) const = default;
};

struct Times {
  std::vector<std::int64_t> forward, backward;  // by logical stage; backward: both parts
  std::vector<std::int64_t> backward_weight;    // by logical stage; empty: half of each backward
  std::int64_t latency = 0;                     // one way
  TransferTimes up, down;                       // up: from the edge to the cloud
  bool operator==(const Times&) const = default;
};

// The spec's unit times, a unit being 1000 microseconds.
Times unit_times(const Schedule& layout);

// The same in a double's exact whole numbers. Error (bad_input): a time below zero or above
// kMaxMicroseconds, and what `check_costs` refuses.
Result<Costs> to_costs(const Schedule& layout, const Times& times);

// Costs in any unit as whole microseconds, each rounded to the nearest: a unit is taken as that
// power of ten of them that gives the longest time seven digits, as only ratios count. Error
// (bad_input): as `to_costs`.
Result<Times> to_times(const Schedule& layout, const Costs& costs);

// How long a direction is busy with BYTES, rounded up. Error (bad_input): a bandwidth not above
// zero, negative bytes, a time above kMaxMicroseconds.
Result<std::int64_t> transfer_microseconds(std::int64_t bytes, std::int64_t bytes_per_second);

}  // namespace hairpin::schedule
