#include "hairpin/schedule/hairpin.h"

#include <algorithm>
#include <numeric>

#include "hairpin/schedule/line.h"

namespace hairpin::schedule {
namespace {

// Appends units to the edge's order. A unit names ops of one domain; it is repeated for each
// domain. Every op goes to the replica that serves its microbatch. The replicas' lists are so parts
// of one order that a single replica could run, which is why they can't wait for each other in a
// circle.
class EdgeOrder {
 public:
  explicit EdgeOrder(Schedule& schedule) : tail_(schedule.num_stages() - 1), schedule_(schedule) {}

  void append(const std::vector<Op>& unit) {
    for (int domain = 0; domain < schedule_.domains; ++domain)
      for (Op op : unit) {
        op.domain = domain;
        schedule_.ranks[static_cast<std::size_t>(schedule_.rank_of(op))].push_back(op);
      }
  }
  Op fs(int i) const { return {OpKind::forward, 0, i}; }
  Op fe(int i) const { return {OpKind::forward, tail_, i}; }
  Op bs(int i) const { return {OpKind::backward, tail_, i}; }
  Op be(int i) const { return {OpKind::backward, 0, i}; }

 private:
  int tail_;
  Schedule& schedule_;
};

// Gives every cloud rank the list that `order(stage, domain)` makes.
template <class Order>
void fill_cloud(Schedule& schedule, const Order& order) {
  for (int rank = schedule.edge_ranks; rank < schedule.num_ranks(); ++rank)
    schedule.ranks[static_cast<std::size_t>(rank)] =
        order(schedule.position_of(rank), schedule.replica_of(rank));
}

}  // namespace

int leading_pairs(int pp, int m) { return std::min(m, (4 * (pp + 1) + 1) / 6); }

Schedule empty_hairpin(const char* kind, int pp, int m, const Replicas& replicas) {
  const auto [domains, edges] = replicas;
  Schedule schedule{.kind = kind, .microbatches = m, .domains = domains, .edge_ranks = edges};
  schedule.position_of_stage.resize(static_cast<std::size_t>(pp) + 1);
  std::iota(schedule.position_of_stage.begin(), schedule.position_of_stage.end(), 0);
  schedule.position_of_stage.back() = 0;
  schedule.ranks.resize(static_cast<std::size_t>(edges) +
                        static_cast<std::size_t>(domains) * static_cast<std::size_t>(pp - 1));
  return schedule;
}

Schedule hairpin_1f1b(int pp, int m, const Replicas& replicas) {
  Schedule schedule = empty_hairpin("hairpin-1f1b", pp, m, replicas);
  EdgeOrder edge(schedule);
  const int pairs = leading_pairs(pp, m);
  int next_fs = 0, next_be = 0;
  while (next_fs < std::min(pp + 1, m)) edge.append({edge.fs(next_fs++)});
  for (int i = 0; i < pairs; ++i) edge.append({edge.fe(i), edge.bs(i)});
  for (int i = pairs; i < m; ++i) {
    std::vector<Op> unit;
    if (next_fs < m) unit.push_back(edge.fs(next_fs++));
    unit.insert(unit.end(), {edge.fe(i), edge.bs(i), edge.be(next_be++)});
    edge.append(unit);
  }
  while (next_be < m) edge.append({edge.be(next_be++)});
  fill_cloud(schedule, [pp, m](int stage, int domain) {
    return one_forward_one_backward(stage, domain, pp - stage, m);
  });
  return schedule;
}

Schedule hairpin_gpipe(int pp, int m, const Replicas& replicas) {
  Schedule schedule = empty_hairpin("gpipe", pp, m, replicas);
  EdgeOrder edge(schedule);
  for (int i = 0; i < m; ++i) edge.append({edge.fs(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.fe(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.bs(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.be(i)});
  fill_cloud(schedule,
             [m](int stage, int domain) { return forwards_then_backwards(stage, domain, m); });
  return schedule;
}

}  // namespace hairpin::schedule
