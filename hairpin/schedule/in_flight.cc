#include "hairpin/schedule/in_flight.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hairpin::schedule {
namespace {

// Follows one rank's list.
class Held {
 public:
  void run(const Op& op) {
    const std::pair microbatch(op.microbatch, op.domain);
    if (op.kind == OpKind::forward) {
      ++on_stage_[op.stage];
      ++stages_[microbatch];
    } else {
      --on_stage_[op.stage];
      if (--stages_[microbatch] == 0) stages_.erase(microbatch);
    }
  }
  int on_stage(int stage) { return on_stage_[stage]; }
  int on_rank() const { return static_cast<int>(stages_.size()); }

 private:
  std::map<int, int> on_stage_;                // microbatches on each stage
  std::map<std::pair<int, int>, int> stages_;  // stages that hold each microbatch
};

}  // namespace

PeakInFlight peak_in_flight(const Schedule& schedule) {
  PeakInFlight peak;
  peak.stage.resize(schedule.position_of_stage.size());
  peak.rank.resize(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    Held held;
    for (const Op& op : schedule.ranks[rank]) {
      held.run(op);
      int& of_stage = peak.stage[static_cast<std::size_t>(op.stage)];
      of_stage = std::max(of_stage, held.on_stage(op.stage));
      peak.rank[rank] = std::max(peak.rank[rank], held.on_rank());
    }
  }
  return peak;
}

}  // namespace hairpin::schedule
