// A synthetic run before it begins: what both sites are told, the schedule that follows from it,
// and how long a step of that should take.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/link/contract.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/simulate.h"
#include "hairpin/wire/message.h"

namespace hairpin::wan {

struct SyntheticOptions {
  std::string kind = "hairpin-adaptive";
  int pp = 2, microbatches = 32;  // one domain, one edge replica
  bool split_backward = false;
  std::vector<int> in_flight_cap, pending_weights_cap;  // as schedule::GenerateOptions has them

  // tf: FS and FE take one, BS and BE two, a cloud stage's F two and B four. Half of a split
  // backward makes the weights' gradients.
  std::chrono::microseconds unit{10000};

  // The link as the schedule is made for it and the simulator takes it; the run itself goes over
  // whatever link there is.
  std::chrono::microseconds latency{0};               // one way
  std::int64_t up_bandwidth = 0, down_bandwidth = 0;  // bytes a second; 0: transfers take no time

  std::int64_t tokens = 16, hidden = 64;  // of a microbatch
  wire::Codec codec = wire::Codec::fp32;  // of both kinds, both ways
  int steps = 4;                          // the first ones included, which warm up
};

struct SyntheticPlan {
  SyntheticOptions options;
  schedule::Schedule schedule;
  schedule::Costs costs;  // microseconds
  schedule::Simulation simulation;
  double bound = 0;  // microseconds; of the makespan
};

// Errors (bad_input): what the generator, the costs or the wire have no place for.
Result<SyntheticPlan> make_plan(const SyntheticOptions& options);

// What both sites must have been told alike.
link::Contract contract_of(const SyntheticOptions& options);

}  // namespace hairpin::wan
