#include "hairpin/schedule/simulate.h"

#include <numeric>
#include <utility>

#include "hairpin/schedule/checker.h"

namespace hairpin::schedule {
namespace {

double busy_time(const std::vector<Op>& ops, const Costs& costs) {
  double busy = 0;
  for (const Op& op : ops) busy += costs.of(op);
  return busy;
}

}  // namespace

Result<Simulation> simulate(const Schedule& schedule, const Costs& costs) {
  HAIRPIN_CHECK_OK(check(schedule));
  HAIRPIN_CHECK_OK(check_costs(schedule, costs));
  Simulation s{replay(schedule, costs)};
  for (const auto& ops : schedule.ranks) {
    s.busy.push_back(busy_time(ops, costs));
    s.bubble.push_back(s.makespan > 0 ? 1 - s.busy.back() / s.makespan : 0);
  }
  s.mean_bubble =
      std::accumulate(s.bubble.begin(), s.bubble.end(), 0.0) / static_cast<double>(s.bubble.size());
  for (const Crossing& c : s.crossings)
    (c.up ? s.link_busy_up : s.link_busy_down) += c.end - c.start;
  s.peak_in_flight = peak_in_flight(schedule);
  return s;
}

}  // namespace hairpin::schedule
