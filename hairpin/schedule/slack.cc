#include "hairpin/schedule/slack.h"

#include <algorithm>
#include <array>

#include "hairpin/schedule/op_places.h"

namespace hairpin::schedule {
namespace {

constexpr std::size_t kNone = OpPlaces::kNone;

// The latest ends that delay nothing, from the last op to start back to the first.
class LatestEnds {
 public:
  LatestEnds(const Schedule& schedule, const Costs& costs, const Replay& timed)
      : schedule_(schedule),
        costs_(costs),
        timed_(timed),
        places_(schedule, timed.crossings),
        transfer_(timed.crossings.size(), timed.makespan) {
    for (const auto& spans : timed.spans) op_.emplace_back(spans.size(), timed.makespan);
    for (std::size_t c = 0; c < timed.crossings.size(); ++c) last_of(timed.crossings[c]) = c;
  }

  std::vector<std::vector<double>> run() {
    for (auto place = timed_.order.rbegin(); place != timed_.order.rend(); ++place) visit(*place);
    return std::move(op_);
  }

 private:
  // All that waits for this op has been visited.
  void visit(const Place& place) {
    const Op& op = schedule_.ranks[place.rank][place.position];
    double& end = op_[place.rank][place.position];
    if (const std::size_t c = places_.crossing_of(op); c != kNone) {
      settle(c);
      end = std::min(end, transfer_[c] - duration(c));
    }
    const double start = end - costs_.of(op);
    if (place.position > 0) lower(op_[place.rank][place.position - 1], start);
    const auto source = data_dependency(op, schedule_);
    if (!source) return;
    const std::size_t crossing = places_.crossing_between(*source, op);
    if (crossing != kNone) return lower(transfer_[crossing], start - costs_.link.latency);
    const Place at = places_.of(*source);
    lower(op_[at.rank][at.position], start);
  }

  // Makes final what crossings from the last one of its direction back to C may end at.
  void settle(std::size_t c) {
    std::size_t& next = last_of(timed_.crossings[c]);
    while (next != kNone && next > c) {
      const std::size_t before = places_.before(next);
      if (before != kNone) lower(transfer_[before], transfer_[next] - duration(next));
      next = before;
    }
  }

  double duration(std::size_t c) const {
    return timed_.crossings[c].end - timed_.crossings[c].start;
  }
  std::size_t& last_of(const Crossing& crossing) { return unsettled_[crossing.up ? 0 : 1]; }
  static void lower(double& value, double limit) { value = std::min(value, limit); }

  const Schedule& schedule_;
  const Costs& costs_;
  const Replay& timed_;
  OpPlaces places_;
  std::vector<double> transfer_;                           // by crossing: its latest end
  std::vector<std::vector<double>> op_;                    // by rank and position: its latest end
  std::array<std::size_t, 2> unsettled_ = {kNone, kNone};  // by direction: the last such crossing
};

}  // namespace

std::vector<std::vector<double>> slack_of(const Schedule& schedule, const Costs& costs,
                                          const Replay& timed) {
  auto slack = LatestEnds(schedule, costs, timed).run();
  for (std::size_t rank = 0; rank < slack.size(); ++rank)
    for (std::size_t i = 0; i < slack[rank].size(); ++i) slack[rank][i] -= timed.spans[rank][i].end;
  return slack;
}

}  // namespace hairpin::schedule
