#include "hairpin/schedule/hairpin.h"

#include <algorithm>
#include <numeric>

#include "hairpin/schedule/line.h"

namespace hairpin::schedule {
namespace {

// Lists of the edge over its microbatches 0..n-1, whatever domains they are of.

std::vector<Op> edge_1f1b(int tail, int n, int warmup, int pairs) {
  std::vector<Op> ops;
  int fs = 0, fe = 0, be = 0;
  const auto forward = [&] { ops.push_back({OpKind::forward, 0, fs++}); };
  const auto pair = [&] {
    ops.push_back({OpKind::forward, tail, fe});
    ops.push_back({OpKind::backward, tail, fe++});
  };
  const auto backward = [&] { ops.push_back({OpKind::backward, 0, be++}); };
  while (fs < std::min(warmup, n)) forward();
  while (fe < std::min(pairs, n)) pair();
  while (fe < n) {
    if (fs < n) forward();
    pair();
    backward();
  }
  while (be < n) backward();
  return ops;
}

std::vector<Op> edge_gpipe(int tail, int n) {
  std::vector<Op> ops = forwards_then_backwards(0, 0, n);
  const auto tail_ops = forwards_then_backwards(tail, 0, n);
  ops.insert(ops.begin() + n, tail_ops.begin(), tail_ops.end());
  return ops;
}

// Gives every edge replica the list that `order(n)` makes over its own n microbatches.
template <class Order>
void fill_edge(Schedule& schedule, const Order& order) {
  const int all = schedule.microbatches * schedule.domains;
  for (int replica = 0; replica < schedule.edge_ranks; ++replica) {
    auto& ops = schedule.ranks[static_cast<std::size_t>(replica)];
    ops = order((all - replica + schedule.edge_ranks - 1) / schedule.edge_ranks);
    for (Op& op : ops) {
      const int number = replica + op.microbatch * schedule.edge_ranks;
      op.microbatch = number / schedule.domains;
      op.domain = number % schedule.domains;
    }
  }
}

// Gives every cloud rank the list that `order(stage, domain)` makes.
template <class Order>
void fill_cloud(Schedule& schedule, const Order& order) {
  for (int rank = schedule.edge_ranks; rank < schedule.num_ranks(); ++rank)
    schedule.ranks[static_cast<std::size_t>(rank)] =
        order(schedule.position_of(rank), schedule.replica_of(rank));
}

}  // namespace

int leading_pairs(int pp) { return (4 * (pp + 1) + 1) / 6; }

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
  const auto share = [&replicas](int count) {
    return (count * replicas.domains + replicas.edges - 1) / replicas.edges;
  };
  const int pairs = share(leading_pairs(pp));
  const int warmup = pairs + share(pp + 1 - leading_pairs(pp));
  fill_edge(schedule, [&](int n) { return edge_1f1b(pp, n, warmup, pairs); });
  fill_cloud(schedule, [pp, m](int stage, int domain) {
    return one_forward_one_backward(stage, domain, pp - stage, m);
  });
  return schedule;
}

Schedule hairpin_gpipe(int pp, int m, const Replicas& replicas) {
  Schedule schedule = empty_hairpin("gpipe", pp, m, replicas);
  fill_edge(schedule, [pp](int n) { return edge_gpipe(pp, n); });
  fill_cloud(schedule,
             [m](int stage, int domain) { return forwards_then_backwards(stage, domain, m); });
  return schedule;
}

}  // namespace hairpin::schedule
