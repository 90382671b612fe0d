// What would make a step shorter. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {

struct Improvement {
  std::string what;  // "half the latency"
  double step = 0;   // of the same kind of schedule, made anew for it
};

// The step with twice the bandwidth, half the latency, an edge twice as fast, twice the caps on
// memory: of these what the layout has and pays for, the shortest step first. Errors
// (bad_input): as `generate` and `simulate`; OPTIONS' times aren't read.
Result<std::vector<Improvement>> improvements(std::string_view kind, const GenerateOptions& options,
                                              const Costs& costs);

// A time as a number is written by default.
std::string plain_number(double time);

// "half the latency would help most: step 567 -> 403 (-29 %)", or that none of them gains 1 %.
// `text` writes a time, `unit` follows the two of them.
std::string advice(const std::vector<Improvement>& improvements, double step,
                   std::string (*text)(double time) = plain_number, std::string_view unit = "");

// Close enough to the lower bound that depth is no longer what is missing.
inline constexpr double kClose = 1.03;

// The peaks in flight by stage, without OPTIONS' cap on them, with which hairpin-adaptive's
// makespan is at most kClose x the bound (`depth_needed`); nothing if no depth is found. Errors
// (bad_input): as `improvements`.
Result<std::optional<std::vector<int>>> depth_to_be_close(const GenerateOptions& options,
                                                          const Costs& costs);

// The schedule made for these costs.
Result<Schedule> generate_for(std::string_view kind, GenerateOptions options, const Costs& costs);

}  // namespace hairpin::schedule
