#include "hairpin/schedule/simulate.h"

#include <algorithm>
#include <numeric>

#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/walk.h"

namespace hairpin::schedule {
namespace {

class Simulator {
 public:
  Simulator(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        index_(schedule),
        end_(index_.size()),
        free_(schedule.ranks.size()),
        result_{.busy = std::vector<double>(schedule.ranks.size()), .peak_in_flight = {}} {
    for (const auto& ops : schedule.ranks) result_.spans.emplace_back(ops.size());
  }

  Result<Simulation> run() {
    HAIRPIN_CHECK_OK(walk(schedule_, [this](int rank, std::size_t position, const Op& op) {
      run_op(static_cast<std::size_t>(rank), position, op);
    }));
    result_.makespan = *std::max_element(free_.begin(), free_.end());
    for (const double busy : result_.busy)
      result_.bubble.push_back(result_.makespan > 0 ? 1 - busy / result_.makespan : 0);
    result_.mean_bubble = std::accumulate(result_.bubble.begin(), result_.bubble.end(), 0.0) /
                          static_cast<double>(result_.bubble.size());
    result_.peak_in_flight = peak_in_flight(schedule_);
    return std::move(result_);
  }

 private:
  void run_op(std::size_t rank, std::size_t position, const Op& op) {
    const double start = std::max(free_[rank], arrival_of_input(op));
    const double end = start + costs_.of(op);
    result_.spans[rank][position] = {start, end};
    result_.busy[rank] += costs_.of(op);
    free_[rank] = end_[index_.of(op)] = end;
  }

  double arrival_of_input(const Op& op) const {
    const auto source = data_dependency(op, schedule_.num_stages());
    if (!source) return 0;
    const bool cut = is_cut(schedule_, source->stage, op.stage);
    return end_[index_.of(*source)] + (cut ? costs_.link.latency : 0);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  OpIndex index_;
  std::vector<double> end_;   // by op
  std::vector<double> free_;  // by rank: the end of its last op so far
  Simulation result_;
};

}  // namespace

Result<Simulation> simulate(const Schedule& schedule, const Costs& costs) {
  HAIRPIN_CHECK_OK(check(schedule));
  HAIRPIN_CHECK_OK(check_costs(schedule, costs));
  return Simulator(schedule, costs).run();
}

}  // namespace hairpin::schedule
