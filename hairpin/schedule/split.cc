#include "hairpin/schedule/split.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "hairpin/schedule/event_loop.h"
#include "hairpin/schedule/replay.h"

namespace hairpin::schedule {
namespace {

// Runs the lists of a schedule that has no weights' ops yet, and puts them in.
class Filler {
 public:
  // PATIENCE as in ListRules, of a weights' op against the next op of the list.
  Filler(const Schedule& lists, const Costs& costs, const std::vector<int>& pending,
         double patience)
      : lists_(lists),
        costs_(costs),
        pending_(pending),
        patience_(patience),
        loop_(lists, costs),
        next_(lists.ranks.size()),
        waiting_(lists.ranks.size()),
        num_waiting_(lists.ranks.size(), std::vector<int>(lists.position_of_stage.size())) {}

  Schedule run() {
    Schedule made = lists_;
    for (auto& ops : made.ranks) ops.clear();
    loop_.run([this](int rank, double now) { return choose(static_cast<std::size_t>(rank), now); },
              [this, &made](int rank, const Op& op, double, double) {
                made.ranks[static_cast<std::size_t>(rank)].push_back(op);
                count(static_cast<std::size_t>(rank), op);
              });
    return made;
  }

 private:
  void count(std::size_t rank, const Op& op) {
    int& waiting = num_waiting_[rank][static_cast<std::size_t>(op.stage)];
    if (op.kind == OpKind::backward_weight) {
      --waiting;
      waiting_[rank].erase(std::find(waiting_[rank].begin(), waiting_[rank].end(), op));
      return;
    }
    ++next_[rank];
    if (op.kind != OpKind::backward_input) return;
    ++waiting;
    waiting_[rank].push_back({OpKind::backward_weight, op.stage, op.microbatch, op.domain});
  }

  // The oldest op of a stage that has as many waiting as it may; a rank has at most two stages.
  std::optional<Op> overdue(std::size_t rank) const {
    for (const Op& op : waiting_[rank])
      if (const auto stage = static_cast<std::size_t>(op.stage);
          num_waiting_[rank][stage] >= pending_[stage])
        return op;
    return std::nullopt;
  }

  std::optional<Op> choose(std::size_t rank, double now) const {
    if (const auto op = overdue(rank)) return op;
    double due = std::numeric_limits<double>::infinity();
    if (next_[rank] < lists_.ranks[rank].size()) {
      const Op& op = lists_.ranks[rank][next_[rank]];
      due = loop_.arrival(op);
      if (due <= now) return op;
    }
    if (waiting_[rank].empty()) return std::nullopt;
    const Op& op = waiting_[rank].front();
    const double cost = costs_.of(op);
    return now + cost - due > patience_ * cost ? std::nullopt : std::optional(op);
  }

  const Schedule& lists_;
  const Costs& costs_;
  const std::vector<int>& pending_;
  double patience_;
  EventLoop loop_;
  std::vector<std::size_t> next_;              // by rank: the next op of its list
  std::vector<std::vector<Op>> waiting_;       // by rank: weights' ops, the oldest first
  std::vector<std::vector<int>> num_waiting_;  // by rank and stage
};

}  // namespace

void mark_split(Schedule& layout) {
  layout.split_backward.assign(layout.position_of_stage.size(), true);
  layout.split_backward.front() = false;
}

Schedule split_weights(const Schedule& whole, const Costs& costs, const std::vector<int>& pending) {
  Schedule lists = whole;
  mark_split(lists);
  for (auto& ops : lists.ranks)
    for (Op& op : ops)
      if (op.kind == OpKind::backward) op.kind = lists.backward_of(op.stage);
  const std::vector<int> at_once(pending.size(), 1);
  Schedule best;
  std::pair best_time(std::numeric_limits<double>::infinity(), 0.0);
  for (const auto& [cap, patience] : {std::pair(&pending, 1.0), std::pair(&pending, 0.5),
                                      std::pair(&pending, 0.0), std::pair(&at_once, 1.0)}) {
    Schedule made = Filler(lists, costs, *cap, patience).run();
    const Replay timed = replay(made, costs);
    if (const std::pair time(timed.step, timed.makespan); time < best_time)
      best = std::move(made), best_time = time;
  }
  return best;
}

}  // namespace hairpin::schedule
