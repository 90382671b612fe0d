// What holds for every generated schedule, over random sizes and times.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/simulate.h"
#include "hairpin/schedule/walk.h"

namespace hairpin::schedule {
namespace {

// Uniform in [begin, end), without RapidCheck's preference for small numbers.
template <class T>
T any(T begin, T end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(begin, end));
}

Schedule any_schedule() {
  const auto [kind, shape] =
      *rc::gen::element(std::pair("gpipe", Shape::line), std::pair("gpipe", Shape::hairpin),
                        std::pair("1f1b", Shape::line), std::pair("zb-h1", Shape::line),
                        std::pair("hairpin-1f1b", Shape::hairpin));
  const int pp = any(shape == Shape::line ? 1 : 2, 9), m = any(1, 65), domains = any(1, 5);
  const int edges = shape == Shape::line ? 1 : any(1, std::min(m * domains, 6) + 1);
  GenerateOptions options{pp, m, domains, edges, shape};
  options.split_backward = any(0, 2) == 1;
  const auto schedule = generate(kind, options);
  RC_ASSERT(schedule.has_value());
  return *schedule;
}

// Times in quarters, so that every sum is exact.
Costs any_costs(const Schedule& schedule) {
  const auto time = [] { return any(0, 40) / 4.0; };
  Costs costs;
  for (int stage = 0; stage < schedule.num_stages(); ++stage) {
    costs.forward.push_back(time());
    costs.backward.push_back(time());
  }
  costs.link = {.latency = time(), .up = {time(), time()}, .down = {time(), time()}};
  return costs;
}

// A random op's place: (rank, position).
std::pair<std::size_t, std::size_t> any_place(const Schedule& schedule) {
  const auto rank = any<std::size_t>(0, schedule.ranks.size());
  return {rank, any<std::size_t>(0, schedule.ranks[rank].size())};
}

RC_GTEST_PROP(Properties, TheCheckerAcceptsEveryGeneratedSchedule, ()) {
  const Schedule schedule = any_schedule();
  const PeakInFlight peak = peak_in_flight(schedule);
  const auto ok =
      check(schedule, {.in_flight_cap = peak.stage, .pending_weights_cap = peak.pending_weights});
  if (!ok) RC_FAIL(ok.error().message);
}

RC_GTEST_PROP(Properties, TheCheckerNamesADroppedAndADoubledOp, ()) {
  Schedule schedule = any_schedule();
  const auto [rank, position] = any_place(schedule);
  auto& ops = schedule.ranks[rank];
  const std::string name = Notation(schedule).text(ops[position]);
  ops.push_back(ops[position]);
  RC_ASSERT(check(schedule).error().message ==
            fmt::format("{} on rank {} stands twice", name, rank));
  ops.pop_back();
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(position));
  RC_ASSERT(check(schedule).error().message == fmt::format("{} is missing on rank {}", name, rank));
}

TEST(Properties, TheCheckerAcceptsEverySmallNumberOfReplicas) {
  for (const char* kind : {"gpipe", "hairpin-1f1b"})
    for (int pp = 2; pp <= 5; ++pp)
      for (int m = 1; m <= 8; ++m)
        for (int domains = 1; domains <= 4; ++domains)
          for (int edges = 1; edges <= std::min(6, m * domains); ++edges)
            EXPECT_TRUE(check(generate(kind, {pp, m, domains, edges, Shape::hairpin}).value()))
                << kind << " pp " << pp << " m " << m << " domains " << domains << " edges "
                << edges;
}

// Counted without the checker and the layout's own functions.
RC_GTEST_PROP(Properties, EveryOpStandsOnceAndAtItsReplica, ()) {
  const Schedule schedule = any_schedule();
  std::set<Op> ops;
  std::size_t total = 0;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    RC_ASSERT(!schedule.ranks[rank].empty());
    total += schedule.ranks[rank].size();
    for (const Op& op : schedule.ranks[rank]) {
      ops.insert(op);
      const bool edge = schedule.is_hairpin() && (op.stage == 0 || op.stage == schedule.pp());
      const auto edges = static_cast<std::size_t>(schedule.edge_ranks);
      const int number = op.microbatch * schedule.domains + op.domain;
      RC_ASSERT(edge == (rank < edges));
      if (edge) RC_ASSERT(static_cast<std::size_t>(number) % edges == rank);
    }
  }
  int kinds = 2 * schedule.num_stages();
  for (int stage = 0; stage < schedule.num_stages(); ++stage) kinds += schedule.is_split(stage);
  const int all = kinds * schedule.microbatches * schedule.domains;
  RC_ASSERT(ops.size() == static_cast<std::size_t>(all));
  RC_ASSERT(total == ops.size());
}

RC_GTEST_PROP(Properties, TheTailsForwardAndBackwardAreNeighboursInHairpin1F1B, ()) {
  const Schedule schedule = any_schedule();
  RC_PRE(schedule.kind == "hairpin-1f1b");
  for (int rank = 0; rank < schedule.edge_ranks; ++rank) {
    const auto& ops = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::forward || ops[i].stage == 0) continue;
      Op backward = ops[i];
      backward.kind = schedule.backward_of(backward.stage);
      RC_ASSERT(i + 1 < ops.size() && ops[i + 1] == backward);
    }
  }
}

TEST(Properties, TheCheckerAcceptsEverySmallSchedule) {
  for (int pp = 2; pp <= 8; ++pp)
    for (int m = 1; m <= 64; ++m) {
      EXPECT_TRUE(check(generate("hairpin-1f1b", {pp, m}).value())) << "pp " << pp << " m " << m;
      EXPECT_TRUE(check(generate("1f1b", {pp, m}).value())) << "pp " << pp << " m " << m;
    }
}

// A swap of two ops of one kind and stage, served by one edge replica, reorders a channel; the ends
// then differ.
RC_GTEST_PROP(Properties, TheCheckerRefusesASwappedOp, ()) {
  Schedule schedule = any_schedule();
  RC_PRE(schedule.num_stages() > 1);
  const auto [rank, position] = any_place(schedule);
  auto& ops = schedule.ranks[rank];
  const Op op = ops[position];
  const auto other = std::find_if(ops.begin(), ops.end(), [&](const Op& o) {
    const auto head_of = [&](const Op& x) { return schedule.rank_of(0, x.domain, x.microbatch); };
    return o.kind == op.kind && o.stage == op.stage && o.domain == op.domain && o != op &&
           head_of(o) == head_of(op);
  });
  RC_PRE(other != ops.end());
  std::swap(ops[position], *other);
  RC_ASSERT(!check(schedule).has_value());
}

RC_GTEST_PROP(Properties, BackwardsAscend, ()) {
  const Schedule schedule = any_schedule();
  for (const auto& ops : schedule.ranks) {
    std::map<std::pair<int, OpKind>, std::pair<int, int>> last;  // by stage and part
    for (const Op& op : ops) {
      if (op.kind == OpKind::forward) continue;
      const std::pair now(op.microbatch, op.domain);
      const auto [at, first] = last.try_emplace({op.stage, op.kind}, now);
      RC_ASSERT(first || at->second < now);
      at->second = now;
    }
  }
}

// The simulator's times obey the model they are derived from, seen from outside.
RC_GTEST_PROP(Properties, SimulatedTimesAreFeasibleAndTight, ()) {
  const Schedule schedule = any_schedule();
  const Costs costs = any_costs(schedule);
  const Simulation s = simulate(schedule, costs).value();
  std::map<Op, double> end, arrival;
  for (const Crossing& c : s.crossings) arrival[c.op] = c.arrival;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i)
      end[schedule.ranks[rank][i]] = s.spans[rank][i].end;
  double latest = 0;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Op& op = schedule.ranks[rank][i];
      double earliest = i == 0 ? 0 : s.spans[rank][i - 1].end;
      if (const auto source = data_dependency(op, schedule)) {
        const bool cut = is_cut(schedule, source->stage, op.stage);
        const bool crosses = cut && op.kind != OpKind::backward_weight;
        earliest = std::max(earliest, crosses ? arrival.at(*source) : end.at(*source));
      }
      RC_ASSERT(s.spans[rank][i].start == earliest);
      RC_ASSERT(s.spans[rank][i].end == earliest + costs.of(op));
      latest = std::max(latest, s.spans[rank][i].end);
    }
  RC_ASSERT(s.makespan == latest);
}

// The link's directions are queues, seen from outside: in order, one at a time, never idle while
// something waits.
RC_GTEST_PROP(Properties, CrossingsQueueForTheirDirection, ()) {
  const Schedule schedule = any_schedule();
  const Costs costs = any_costs(schedule);
  const Simulation s = simulate(schedule, costs).value();
  std::map<Op, double> end;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i)
      end[schedule.ranks[rank][i]] = s.spans[rank][i].end;
  double free[2] = {0, 0}, queued[2] = {0, 0};
  for (const Crossing& c : s.crossings) {
    const Transfer& transfer = c.up ? costs.link.up : costs.link.down;
    RC_ASSERT(c.queued == end.at(c.op));
    RC_ASSERT(c.queued >= queued[c.up]);
    RC_ASSERT(c.start == std::max(c.queued, free[c.up]));
    RC_ASSERT(c.end - c.start ==
              (c.op.kind == OpKind::forward ? transfer.activation : transfer.gradient));
    RC_ASSERT(c.arrival == c.end + costs.link.latency);
    free[c.up] = c.end, queued[c.up] = c.queued;
  }
  const std::size_t all = static_cast<std::size_t>(schedule.microbatches * schedule.domains);
  RC_ASSERT(s.crossings.size() == (schedule.is_hairpin() ? 4 * all : 0));
}

RC_GTEST_PROP(Properties, NoScheduleBeatsTheLowerBound, ()) {
  const Schedule schedule = any_schedule();
  const Costs costs = any_costs(schedule);
  RC_ASSERT(simulate(schedule, costs).value().makespan >= lower_bound(schedule, costs).value());
}

RC_GTEST_PROP(Properties, OpsReadBackAsTheyWereWritten, ()) {
  const Schedule schedule = any_schedule();
  const Notation notation(schedule);
  for (int rank = 0; rank < schedule.num_ranks(); ++rank)
    for (const Op& op : schedule.ranks[static_cast<std::size_t>(rank)])
      RC_ASSERT(parse_op(schedule, rank, notation.text(op)).value() == op);
}

RC_GTEST_PROP(Properties, OpIndexIsABijection, ()) {
  const Schedule schedule = any_schedule();
  const OpIndex index(schedule);
  for (std::size_t i = 0; i < index.size(); ++i) RC_ASSERT(index.of(index.op(i)) == i);
}

}  // namespace
}  // namespace hairpin::schedule
