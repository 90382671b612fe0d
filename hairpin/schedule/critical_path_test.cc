#include "hairpin/schedule/critical_path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "hairpin/schedule/explain.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/simulate.h"
#include "hairpin/schedule/slack.h"

namespace hairpin::schedule {
namespace {

// A small schedule with times of its own.
struct Sample {
  Schedule schedule;
  Costs costs;
  Simulation timed;
};

Sample any_sample() {
  const auto any = [](int begin, int end) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end));
  };
  GenerateOptions options{any(2, 5), any(1, 7), any(1, 3)};
  options.split_backward = any(0, 2) == 1;
  Sample sample{generate("hairpin-1f1b", options).value(), {}, {}};
  for (int stage = 0; stage < sample.schedule.num_stages(); ++stage) {
    sample.costs.forward.push_back(any(1, 9));
    sample.costs.backward.push_back(2 * any(1, 9));
  }
  sample.costs.link = {.latency = 1.0 * any(0, 9), .up = {1.0 * any(0, 9), 2}, .down = {3, 0}};
  sample.timed = simulate(sample.schedule, sample.costs).value();
  return sample;
}

// The makespan when one op takes EXTRA longer and every order stays: by relaxing all constraints
// until nothing moves.
double makespan_with(const Sample& s, const Place& delayed, double extra) {
  std::map<Op, double> end, arrival;
  bool moved = true;
  const auto raise = [&moved](double& value, double to) {
    if (to > value) value = to, moved = true;
  };
  while (moved) {
    moved = false;
    for (std::size_t rank = 0; rank < s.schedule.ranks.size(); ++rank) {
      double free = 0;
      for (std::size_t i = 0; i < s.schedule.ranks[rank].size(); ++i) {
        const Op& op = s.schedule.ranks[rank][i];
        if (const auto source = data_dependency(op, s.schedule))
          free = std::max(
              {free, end[*source], op.kind == OpKind::backward_weight ? 0 : arrival[*source]});
        free += s.costs.of(op) + (rank == delayed.rank && i == delayed.position ? extra : 0);
        raise(end[op], free);
      }
    }
    double direction[2] = {0, 0};
    for (const Crossing& c : s.timed.crossings) {
      const double start = std::max(end[c.op], direction[c.up]);
      direction[c.up] = start + (c.end - c.start);
      raise(arrival[c.op], direction[c.up] + s.costs.link.latency);
    }
  }
  double latest = 0;
  for (const auto& [op, time] : end) latest = std::max(latest, time);
  return latest;
}

RC_GTEST_PROP(Slack, AnOpMayBeLateByItsSlackAndNoMore, ()) {
  const Sample s = any_sample();
  const auto slack = slack_of(s.schedule, s.costs, s.timed);
  for (std::size_t rank = 0; rank < slack.size(); ++rank)
    for (std::size_t i = 0; i < slack[rank].size(); i += 3) {
      RC_ASSERT(makespan_with(s, {rank, i}, slack[rank][i]) == s.timed.makespan);
      RC_ASSERT(makespan_with(s, {rank, i}, slack[rank][i] + 1) == s.timed.makespan + 1);
    }
}

RC_GTEST_PROP(CriticalPath, LeadsFromZeroToTheEndOverOpsWithoutSlack, ()) {
  const Sample s = any_sample();
  const auto slack = slack_of(s.schedule, s.costs, s.timed);
  double now = 0;
  for (const Leg& leg : critical_path(s.schedule, s.timed)) {
    RC_ASSERT(leg.start == now);
    RC_ASSERT(leg.end > leg.start);
    if (leg.what == Leg::What::op) RC_ASSERT(slack[leg.place.rank][leg.place.position] == 0);
    now = leg.end;
  }
  RC_ASSERT(now == s.timed.makespan);
}

RC_GTEST_PROP(Explain, SharesOfThePathAreAllOfIt, ()) {
  const Sample s = any_sample();
  double sum = 0;
  for (const auto& [name, share] : path_shares(s.schedule, s.timed)) sum += share;
  RC_ASSERT(std::abs(sum - 1) < 1e-9);
}

TEST(Explain, OneMicrobatchByHand) {
  const Schedule schedule = generate("hairpin-1f1b", {2, 1}).value();
  Costs costs = unit_costs(schedule);
  costs.link = {.latency = 10, .up = {1, 1}, .down = {2, 2}};
  // FS 1, up 1 + 10, F 2, down 2 + 10, FE 1, BS 2, up 1 + 10, B 4, down 2 + 10, BE 2: 58.
  const Simulation s = simulate(schedule, costs).value();
  EXPECT_EQ(s.makespan, 58);
  EXPECT_EQ(critical_path(schedule, s).size(), 14u);
  const auto shares = path_shares(schedule, s);
  EXPECT_EQ(shares[0], (std::pair<std::string, double>("latency", 40 / 58.0)));
  EXPECT_EQ(busy_line(schedule, s),
            "edge busy 10 %, the link up 3 %, the link down 7 %, the edge waits 90 %");
}

TEST(Explain, TheEdgeWaitsWhereTheCloudIsBusiest) {
  const Schedule schedule = generate("hairpin-1f1b", {2, 1}).value();
  Costs costs = unit_costs(schedule);
  costs.forward[1] = 4, costs.backward[1] = 10;  // 14 of 20, the edge 6
  EXPECT_EQ(busy_line(schedule, simulate(schedule, costs).value()),
            "cloud 1 busy 70 %, the edge waits 70 %");
}

TEST(Explain, ALineNamesWhoWaitsMost) {
  const Schedule schedule = generate("1f1b", {2, 2}).value();
  const Costs costs{.forward = {1, 2}, .backward = {1, 2}};
  const Simulation s = simulate(schedule, costs).value();  // 1 + 8 + 1
  EXPECT_EQ(busy_line(schedule, s), "rank 1 busy 80 %, rank 0 waits 60 %");
}

}  // namespace
}  // namespace hairpin::schedule
