#include "hairpin/schedule/adaptive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

constexpr const char* kAdaptive = "hairpin-adaptive";

struct Made {
  Schedule schedule;
  Simulation simulation;
  double bound;
  double ratio() const { return simulation.makespan / bound; }
};

// A schedule made for TIMES, simulated at them.
Made made(const char* kind, GenerateOptions options, const Times& times) {
  options.times = times;
  if (std::string_view(kind) != kAdaptive) options.in_flight_cap.clear();
  Schedule schedule = generate(kind, options).value();
  const Costs costs = to_costs(schedule, times).value();
  Simulation simulation = simulate(schedule, costs).value();
  const double bound = lower_bound(schedule, costs).value();
  return {std::move(schedule), std::move(simulation), bound};
}

Times unit_times_at(const GenerateOptions& options, double latency) {
  Times times = unit_times(layout_of(kAdaptive, options).value());
  times.latency = std::llround(latency * 1000);
  return times;
}

TEST(Adaptive, StaysWithinThreePercentOfTheBoundAtAnyLatency) {
  for (int pp = 2; pp <= 5; ++pp)
    for (const double latency : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0}) {
      const GenerateOptions options{pp, 64};
      EXPECT_LE(made(kAdaptive, options, unit_times_at(options, latency)).ratio(), 1.03)
          << "pp " << pp << " latency " << latency;
    }
}

TEST(Adaptive, UnderACapItIsLegalAndNeverWorseThanWhatElseIs) {
  for (int pp = 2; pp <= 5; ++pp)
    for (const double latency : {0.0, 1.5, 4.0, 20.0})
      for (const int cap : {1, 2, 4, 8, 64}) {
        GenerateOptions options{pp, 64};
        const Times times = unit_times_at(options, latency);
        const std::vector<int> caps(static_cast<std::size_t>(pp) + 1, cap);
        options.in_flight_cap = caps;
        options.shape = Shape::hairpin;
        const Made adaptive = made(kAdaptive, options, times);
        EXPECT_TRUE(check(adaptive.schedule, {.in_flight_cap = caps}));
        for (const char* kind : {"gpipe", "hairpin-1f1b"}) {
          const Made other = made(kind, options, times);
          if (!check(other.schedule, {.in_flight_cap = caps})) continue;
          EXPECT_LE(adaptive.simulation.makespan, other.simulation.makespan)
              << kind << " pp " << pp << " latency " << latency << " cap " << cap;
        }
      }
}

// Unequal times and a link of finite bandwidth.
class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}

  int any(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  Times times(int pp, int domains_over_edges) {
    Times times;
    for (int stage = 0; stage <= pp; ++stage) {
      const int share = stage == 0 || stage == pp ? 2 * domains_over_edges : 1;
      const int forward = any(500, 2000) / share;
      times.forward.push_back(forward);
      times.backward.push_back(forward * any(15, 25) / 10);
    }
    times.latency = any(0, 10'000);
    times.up = {any(0, 2000), any(0, 2000)};
    times.down = {any(0, 2000), any(0, 2000)};
    return times;
  }

 private:
  std::mt19937 random_;
};

TEST(Adaptive, AThousandUnequalPipelinesOverFiniteBandwidth) {
  Cases cases(1);
  std::vector<double> ratios;
  for (int i = 0; i < 1000; ++i) {
    const GenerateOptions options{cases.any(2, 5), 16};
    const Times times = cases.times(options.pp, 1);
    const Made adaptive = made(kAdaptive, options, times);
    EXPECT_LE(adaptive.simulation.makespan,
              made("hairpin-1f1b", options, times).simulation.makespan)
        << "case " << i;
    ratios.push_back(adaptive.ratio());
  }
  std::nth_element(ratios.begin(), ratios.begin() + 500, ratios.end());
  EXPECT_LE(ratios[500], 1.05);
  EXPECT_GE(*std::min_element(ratios.begin(), ratios.end()), 1);
}

TEST(Adaptive, DomainsEdgeReplicasAndSplitBackwards) {
  Cases cases(2);
  for (int i = 0; i < 60; ++i) {
    GenerateOptions options{cases.any(2, 4), cases.any(1, 12), cases.any(1, 4)};
    options.edges = cases.any(1, std::min(4, options.microbatches * options.domains));
    options.split_backward = i % 2 == 1;
    const Times times = cases.times(options.pp, 1);
    options.in_flight_cap.assign(static_cast<std::size_t>(options.pp) + 1, cases.any(1, 9));
    options.pending_weights_cap = {cases.any(1, 4)};
    const Made adaptive = made(kAdaptive, options, times);
    const auto ok = check(adaptive.schedule,
                          {.in_flight_cap = options.in_flight_cap,
                           .pending_weights_cap = std::vector<int>(
                               options.in_flight_cap.size(), options.pending_weights_cap[0])});
    EXPECT_TRUE(ok) << ok.error().message;
    EXPECT_EQ(adaptive.schedule.kind, kAdaptive);
    const Made other = made("hairpin-1f1b", options, times);
    if (check(other.schedule, {.in_flight_cap = options.in_flight_cap})) {
      EXPECT_LE(adaptive.simulation.step, other.simulation.step) << "case " << i;
    }
  }
}

TEST(Adaptive, SplittingMakesNoStepLonger) {
  Cases cases(3);
  for (int i = 0; i < 40; ++i) {
    GenerateOptions options{cases.any(2, 5), 16};
    Times times = cases.times(options.pp, 1);
    times.up = times.down = {};
    const double whole = made(kAdaptive, options, times).simulation.makespan;
    options.split_backward = true;
    EXPECT_LE(made(kAdaptive, options, times).simulation.makespan, whole) << "case " << i;
  }
}

// Pinned: both sites, whatever their machines, must find this order. Sites whose searches differ
// can't train together.
TEST(Adaptive, TheSameOrderEverywhere) {
  GenerateOptions options{2, 6};
  options.in_flight_cap = {4, 3, 1};
  Times times{.forward = {1000, 2100, 1300}, .backward = {1900, 3900, 2300}, .latency = 1700};
  times.up = {400, 300};
  const Schedule schedule = made(kAdaptive, options, times).schedule;
  EXPECT_EQ(ops_table(schedule.ranks, rank_labels(schedule), Notation(schedule)),
            "edge     FS1 FS2 FS3 FS4 FE1 BS1 FE2 BS2 FE3 BS3 BE1 FS5 BE2 FS6 BE3 FE4 BS4 FE5 BS5 "
            "FE6 BS6 BE4 BE5 BE6\n"
            "cloud 1  F1 F2 F3 B1 B2 B3 F4 F5 F6 B4 B5 B6\n");
}

TEST(Adaptive, SaysWhichDepthWouldBeNeeded) {
  const GenerateOptions options{3, 64};
  const Schedule layout = layout_of(kAdaptive, options).value();
  const Times times = unit_times_at(options, 8);
  const std::vector<int> pending(4, 3);
  const auto depth = depth_needed(layout, times, pending, 1.03);
  ASSERT_TRUE(depth);
  GenerateOptions capped = options;
  capped.in_flight_cap = *depth;
  EXPECT_LE(made(kAdaptive, capped, times).ratio(), 1.03);
  capped.in_flight_cap.assign(4, *std::max_element(depth->begin(), depth->end()) - 1);
  EXPECT_GT(made(kAdaptive, capped, times).ratio(), 1.03);
  EXPECT_FALSE(depth_needed(layout, times, pending, 0.9));
}

TEST(Adaptive, Refusals) {
  const auto refusal = [](const char* kind, const GenerateOptions& options) {
    const auto schedule = generate(kind, options);
    return schedule ? std::string("accepted") : schedule.error().message;
  };
  GenerateOptions options{3, 8};
  options.in_flight_cap = {0};
  EXPECT_EQ(refusal(kAdaptive, options),
            "schedule hairpin-adaptive: a cap on microbatches in flight is 0, too small for one "
            "microbatch; give 1 or more");
  options.in_flight_cap = {1, 2};
  EXPECT_THAT(refusal(kAdaptive, options), HasSubstr("4 stages, but 2 caps"));
  options.in_flight_cap = {};
  options.pending_weights_cap = {-1};
  EXPECT_THAT(refusal(kAdaptive, options), HasSubstr("a cap on pending weights is -1"));
  options.pending_weights_cap = {};
  options.shape = Shape::line;
  EXPECT_EQ(refusal(kAdaptive, options),
            "schedule hairpin-adaptive needs an edge that holds head and tail; use 1f1b or zb-h1 "
            "on a line of ranks");
  options.shape = {};
  options.times = Times{.forward = {1, 1, 1, 1}, .backward = {1, 1, -1, 1}};
  EXPECT_THAT(refusal(kAdaptive, options), HasSubstr("a time of backward is -1 us"));
  options.times = {};
  options.in_flight_cap = {4};
  EXPECT_THAT(refusal("hairpin-1f1b", options), HasSubstr("whose cap is 4"));
  EXPECT_THAT(refusal(kAdaptive, {2, 2, 1 << 11, 1 << 10}), HasSubstr("1048576 domains times"));
}

}  // namespace
}  // namespace hairpin::schedule
