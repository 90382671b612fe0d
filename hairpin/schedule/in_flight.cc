#include "hairpin/schedule/in_flight.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hairpin::schedule {
namespace {

void raise(int& peak, int now) { peak = std::max(peak, now); }

// Follows one rank's list.
class Held {
 public:
  explicit Held(std::size_t stages) : in_flight(stages), pending(stages) {}

  void run(const Op& op) {
    const auto stage = static_cast<std::size_t>(op.stage);
    const std::pair microbatch(op.microbatch, op.domain);
    if (op.kind == OpKind::forward) {
      ++in_flight[stage];
      ++stages_[microbatch];
    } else if (op.kind == OpKind::backward_weight) {
      --pending[stage];
    } else {
      --in_flight[stage];
      if (op.kind == OpKind::backward_input) ++pending[stage];
      if (--stages_[microbatch] == 0) stages_.erase(microbatch);
    }
  }
  int on_rank() const { return static_cast<int>(stages_.size()); }

  std::vector<int> in_flight, pending;  // by stage

 private:
  std::map<std::pair<int, int>, int> stages_;  // stages that each microbatch is in flight on
};

}  // namespace

PeakInFlight peak_in_flight(const Schedule& schedule) {
  const std::size_t stages = schedule.position_of_stage.size();
  PeakInFlight peak;
  for (auto* counts : {&peak.stage, &peak.pending_weights, &peak.held}) counts->resize(stages);
  peak.rank.resize(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    Held held(stages);
    for (const Op& op : schedule.ranks[rank]) {
      held.run(op);
      const auto stage = static_cast<std::size_t>(op.stage);
      raise(peak.stage[stage], held.in_flight[stage]);
      raise(peak.pending_weights[stage], held.pending[stage]);
      raise(peak.held[stage], held.in_flight[stage] + held.pending[stage]);
      raise(peak.rank[rank], held.on_rank());
    }
  }
  return peak;
}

}  // namespace hairpin::schedule
