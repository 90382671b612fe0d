// Both sites of a synthetic run in one process: what passes through, and in which order.
#include "tests/wan/synthetic_site.h"

#include <gtest/gtest.h>

#include <thread>

#include "hairpin/link/memory_link.h"

namespace hairpin::wan {
namespace {

using std::chrono::microseconds;

SyntheticOptions options(std::string kind, bool split) {
  return {.kind = std::move(kind),
          .pp = 3,
          .microbatches = 5,
          .split_backward = split,
          .unit = microseconds(1000),
          .latency = microseconds(1500),
          .steps = 2};
}

link::MemoryPair pair_of(const SyntheticOptions& o) {
  return link::make_memory_pair({.delay_up = o.latency,
                                 .delay_down = o.latency,
                                 .jitter = microseconds(500),
                                 .seed = 3,
                                 .reorder = true});
}

struct Case {
  std::string kind;
  bool split;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.kind << (c.split ? ", split" : ""); }

class SyntheticSites : public testing::TestWithParam<Case> {};

// What the stages of `site` were called for in each of the run's steps: the schedule's lists.
void expect_scheduled_calls(const SyntheticPlan& plan, const SyntheticSite& site) {
  for (const auto& rank : site.ranks()) {
    const auto& once = plan.schedule.ranks[static_cast<std::size_t>(rank.rank)];
    std::vector<schedule::Op> all;
    for (int step = 0; step < plan.options.steps; ++step)
      all.insert(all.end(), once.begin(), once.end());
    EXPECT_EQ(rank.calls, all) << rank.rank;
    for (const auto& [index, stage] : rank.stages) {
      const auto& peak = plan.simulation.peak_in_flight;
      const auto i = static_cast<std::size_t>(index);
      EXPECT_EQ(static_cast<int>(stage.peak_in_flight()), peak.stage[i]);
      EXPECT_EQ(static_cast<int>(stage.peak_pending_weights()), peak.pending_weights[i]);
    }
  }
}

TEST_P(SyntheticSites, RunTheScheduleAndAreNeverFasterThanTheSimulator) {
  const auto plan = make_plan(options(GetParam().kind, GetParam().split));
  ASSERT_TRUE(plan) << plan.error().message;
  auto pair = pair_of(plan->options);
  SyntheticSite edge(*plan, wire::Role::edge, *pair.edge);
  SyntheticSite cloud(*plan, wire::Role::cloud, *pair.cloud);
  Result<void> of_cloud;
  std::jthread thread([&] { of_cloud = cloud.run(); });
  const auto of_edge = edge.run();
  thread.join();
  ASSERT_TRUE(of_edge) << of_edge.error().message;
  ASSERT_TRUE(of_cloud) << of_cloud.error().message;

  expect_scheduled_calls(*plan, edge);
  expect_scheduled_calls(*plan, cloud);
  ASSERT_EQ(edge.steps().size(), 2u);
  for (const auto& step : edge.steps()) {
    EXPECT_EQ(step.losses, (std::vector<double>{8, 16, 24, 32, 40}));
    EXPECT_GE(step.seconds * 1e6, plan->simulation.step);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SyntheticSites,
                         testing::Values(Case{"hairpin-adaptive", false},
                                         Case{"hairpin-adaptive", true},
                                         Case{"hairpin-1f1b", false}, Case{"hairpin-1f1b", true},
                                         Case{"gpipe", false}));

TEST(SyntheticSite, RefusesAPeerThatWasToldOtherwise) {
  auto other = options("gpipe", false);
  const auto own = make_plan(other);
  other.unit = microseconds(2000);
  const auto peers = make_plan(other);
  auto pair = pair_of(other);
  SyntheticSite edge(*own, wire::Role::edge, *pair.edge);
  SyntheticSite cloud(*peers, wire::Role::cloud, *pair.cloud);
  std::jthread thread([&] { EXPECT_FALSE(cloud.run()); });
  const auto end = edge.run();
  ASSERT_FALSE(end);
  EXPECT_NE(end.error().message.find("unit, us"), std::string::npos) << end.error().message;
}

TEST(SyntheticPlan, TakesTransfersFromTheBandwidthThatIsGiven) {
  auto told = options("hairpin-1f1b", false);
  told.tokens = 100;
  told.hidden = 640;
  told.up_bandwidth = 128'050'000;  // 256,000 bytes of fp32 and their headers: 2 ms
  const auto plan = make_plan(told);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->costs.link.up.activation, 2000);
  EXPECT_EQ(plan->costs.link.up.gradient, 2000);
  EXPECT_EQ(plan->costs.link.down.activation, 0);
  EXPECT_EQ(plan->costs.link.latency, 1500);
}

TEST(SyntheticPlan, RefusesWhatItHasNoPlaceFor) {
  auto told = options("1f1b", false);
  EXPECT_FALSE(make_plan(told));
  told.kind = "gpipe";
  EXPECT_TRUE(make_plan(told));
  told.tokens = 0;
  EXPECT_FALSE(make_plan(told));
  told.tokens = 1;
  told.steps = 0;
  EXPECT_FALSE(make_plan(told));
}

}  // namespace
}  // namespace hairpin::wan
