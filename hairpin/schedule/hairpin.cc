#include "hairpin/schedule/hairpin.h"

#include <algorithm>
#include <numeric>

#include "hairpin/schedule/line.h"

namespace hairpin::schedule {
namespace {

// Appends units to the edge's list. A unit names ops of one domain; it is repeated for each domain.
class EdgeList {
 public:
  EdgeList(int tail, int domains, std::vector<Op>& out)
      : tail_(tail), domains_(domains), out_(out) {}

  void append(const std::vector<Op>& unit) {
    for (int domain = 0; domain < domains_; ++domain)
      for (Op op : unit) {
        op.domain = domain;
        out_.push_back(op);
      }
  }
  Op fs(int i) const { return {OpKind::forward, 0, i}; }
  Op fe(int i) const { return {OpKind::forward, tail_, i}; }
  Op bs(int i) const { return {OpKind::backward, tail_, i}; }
  Op be(int i) const { return {OpKind::backward, 0, i}; }

 private:
  int tail_, domains_;
  std::vector<Op>& out_;
};

}  // namespace

int leading_pairs(int pp, int m) { return std::min(m, (4 * (pp + 1) + 1) / 6); }

Schedule empty_hairpin(const char* kind, int pp, int m, int domains) {
  Schedule schedule{.kind = kind, .microbatches = m, .domains = domains, .shared_ranks = 1};
  schedule.rank_of_stage.resize(static_cast<std::size_t>(pp) + 1);
  std::iota(schedule.rank_of_stage.begin(), schedule.rank_of_stage.end(), 0);
  schedule.rank_of_stage.back() = 0;
  schedule.ranks.resize(1 + static_cast<std::size_t>(domains) * static_cast<std::size_t>(pp - 1));
  return schedule;
}

Schedule hairpin_1f1b(int pp, int m, int domains) {
  Schedule schedule = empty_hairpin("hairpin-1f1b", pp, m, domains);
  EdgeList edge(pp, domains, schedule.ranks[0]);
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
  for (int domain = 0; domain < domains; ++domain)
    for (int stage = 1; stage < pp; ++stage)
      schedule.ranks[static_cast<std::size_t>(schedule.rank_of(stage, domain))] =
          one_forward_one_backward(stage, domain, pp - stage, m);
  return schedule;
}

Schedule hairpin_gpipe(int pp, int m, int domains) {
  Schedule schedule = empty_hairpin("gpipe", pp, m, domains);
  EdgeList edge(pp, domains, schedule.ranks[0]);
  for (int i = 0; i < m; ++i) edge.append({edge.fs(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.fe(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.bs(i)});
  for (int i = 0; i < m; ++i) edge.append({edge.be(i)});
  for (int domain = 0; domain < domains; ++domain)
    for (int stage = 1; stage < pp; ++stage)
      schedule.ranks[static_cast<std::size_t>(schedule.rank_of(stage, domain))] =
          forwards_then_backwards(stage, domain, m);
  return schedule;
}

}  // namespace hairpin::schedule
