#include "hairpin/schedule/list_scheduler.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "hairpin/schedule/boundary.h"
#include "hairpin/schedule/event_loop.h"

namespace hairpin::schedule {
namespace {

// A stage on one rank: how far it has come.
struct Progress {
  int stage;
  int forwards = 0, backwards = 0, weights = 0;
};

// A rank's own microbatches are numbers first, first + stride, ...
struct Rank {
  int first, stride, count;
  std::vector<Progress> stages;
};

class Lists {
 public:
  Lists(const Schedule& layout, const Costs& costs, const ListRules& rules)
      : layout_(layout), costs_(costs), rules_(rules), loop_(layout, costs) {
    run_.ranks.resize(layout.ranks.size());
    run_.peak.resize(layout.position_of_stage.size());
    last_end_.resize(layout.ranks.size());
    const int all = layout.microbatches * layout.domains;
    for (int rank = 0; rank < layout.num_ranks(); ++rank) {
      const int first = layout.replica_of(rank);
      const int stride = layout.is_edge(rank) ? layout.edge_ranks : layout.domains;
      Rank& made =
          ranks_.emplace_back(Rank{first, stride, (all - first + stride - 1) / stride, {}});
      for (const int stage : layout.stages_of(rank)) made.stages.push_back({stage});
    }
  }

  ListRun run() {
    loop_.run([this](int rank, double now) { return choose(rank, now); },
              [this](int rank, const Op& op, double, double end) {
                run_.ranks[static_cast<std::size_t>(rank)].push_back(op);
                last_end_[static_cast<std::size_t>(rank)] = end;
                count(ranks_[static_cast<std::size_t>(rank)], op);
              });
    run_.makespan = *std::max_element(last_end_.begin(), last_end_.end());
    run_.step = step_time(layout_, costs_, last_end_);
    return std::move(run_);
  }

 private:
  Op op_of(const Rank& rank, OpKind kind, int stage, int nth) const {
    const int number = rank.first + nth * rank.stride;
    return {kind, stage, number / layout_.domains, number % layout_.domains};
  }

  void count(Rank& rank, const Op& op) {
    for (Progress& p : rank.stages) {
      if (p.stage != op.stage) continue;
      ++(op.kind == OpKind::forward           ? p.forwards
         : op.kind == OpKind::backward_weight ? p.weights
                                              : p.backwards);
      int& peak = run_.peak[static_cast<std::size_t>(op.stage)];
      peak = std::max(peak, p.forwards - p.backwards);
    }
  }

  std::optional<Op> next_forward(const Rank& rank, const Progress& p) const {
    const int depth = rules_.depth[static_cast<std::size_t>(p.stage)];
    if (p.forwards == rank.count || p.forwards - p.backwards >= depth) return std::nullopt;
    return op_of(rank, OpKind::forward, p.stage, p.forwards);
  }
  std::optional<Op> next_backward(const Rank& rank, const Progress& p) const {
    if (p.backwards == rank.count) return std::nullopt;
    return op_of(rank, layout_.backward_of(p.stage), p.stage, p.backwards);
  }
  std::optional<Op> next_weights(const Rank& rank, const Progress& p) const {
    if (!layout_.is_split(p.stage) || p.weights == p.backwards) return std::nullopt;
    return op_of(rank, OpKind::backward_weight, p.stage, p.weights);
  }

  // The weights' gradients that must be made before anything else.
  std::optional<Op> overdue(const Rank& rank) const {
    for (const Progress& p : rank.stages)
      if (p.backwards - p.weights >= rules_.pending[static_cast<std::size_t>(p.stage)])
        if (const auto op = next_weights(rank, p)) return op;
    return std::nullopt;
  }

  std::optional<Op> preferred(const Rank& rank, bool edge, std::size_t place) const {
    if (!edge)
      return place == 0   ? next_backward(rank, rank.stages[0])
             : place == 1 ? next_forward(rank, rank.stages[0])
                          : std::nullopt;
    const EdgeOp what = rules_.preference[place];
    const bool head = what == EdgeOp::fs || what == EdgeOp::be;
    const Progress& p = head ? rank.stages.front() : rank.stages.back();
    return what == EdgeOp::fs || what == EdgeOp::fe ? next_forward(rank, p)
                                                    : next_backward(rank, p);
  }

  // Whether a preferred op that arrives at DUE would be kept waiting too long by OP.
  bool worth_waiting(const Op& op, double now, double due) const {
    const double cost = costs_.of(op);
    return now + cost - due > rules_.patience * cost;
  }

  std::optional<Op> choose(int number, double now) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    if (const auto op = overdue(rank)) return op;
    double due = std::numeric_limits<double>::infinity();  // of the earliest one on its way
    for (std::size_t place = 0; place < 4; ++place) {
      const auto op = preferred(rank, layout_.is_edge(number), place);
      if (!op) continue;
      const double arrival = loop_.arrival(*op);
      if (arrival <= now) return worth_waiting(*op, now, due) ? std::nullopt : op;
      due = std::min(due, arrival);
    }
    for (const Progress& p : rank.stages)
      if (const auto op = next_weights(rank, p))
        return worth_waiting(*op, now, due) ? std::nullopt : op;
    return std::nullopt;
  }

  const Schedule& layout_;
  const Costs& costs_;
  const ListRules& rules_;
  EventLoop loop_;
  std::vector<Rank> ranks_;
  std::vector<double> last_end_;  // by rank
  ListRun run_;
};

}  // namespace

ListRun list_schedule(const Schedule& layout, const Costs& costs, const ListRules& rules) {
  return Lists(layout, costs, rules).run();
}

}  // namespace hairpin::schedule
