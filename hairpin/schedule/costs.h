// What ops and crossings cost, for the simulator and the bound. Any one unit of time.
#pragma once

#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// What one microbatch of one domain keeps a direction of the link busy.
struct Transfer {
  double activation = 0, gradient = 0;
};

// The link between edge and cloud. A message queues for its direction, first in first out, which
// activations and gradients of all domains and replicas share; it then takes its transfer time, and
// arrives a latency later. Inside a site nothing costs time.
struct LinkCosts {
  double latency = 0;  // one way
  Transfer up, down;   // up: from the edge to the cloud
};

struct Costs {
  std::vector<double> forward;   // by logical stage
  std::vector<double> backward;  // by logical stage: both parts, if it is split
  LinkCosts link;
  // By logical stage, the part of `backward` that makes the weights' gradients. Empty: half of it.
  std::vector<double> backward_weight;

  double weight_part(int stage) const;
  double of(const Op& op) const;
};

// The unit times of the spec: FS = FE = 1, BS = BE = 2, cloud F = 2, B = 4, no latency.
Costs unit_costs(const Schedule& layout);

// Bytes over bytes per time. Error (bad_input): a bandwidth that isn't above zero and finite,
// negative bytes.
Result<double> transfer_time(double bytes, double bandwidth);

// Whether STAGE lies on the edge. A line of ranks has none.
bool is_on_edge(const Schedule& layout, int stage);

// Whether the boundary between two neighbouring stages is a cut: one side on the edge, the other
// in the cloud.
bool is_cut(const Schedule& layout, int stage, int other);

// Error (bad_input): not one time a stage, a weights' part above its whole, or a time that is
// negative or not finite.
Result<void> check_costs(const Schedule& layout, const Costs& costs);

}  // namespace hairpin::schedule
