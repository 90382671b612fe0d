#include "hairpin/schedule/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Schedule hairpin(int pp, int m, int domains = 1, int edges = 1) {
  return generate("hairpin-1f1b", {pp, m, domains, edges}).value();
}

Simulation at_unit_times(const Schedule& schedule, double latency = 0) {
  Costs costs = unit_costs(schedule);
  costs.link.latency = latency;
  return simulate(schedule, costs).value();
}

double bound_at_unit_times(const Schedule& schedule, double latency = 0) {
  Costs costs = unit_costs(schedule);
  costs.link.latency = latency;
  return lower_bound(schedule, costs).value();
}

constexpr double kLatencies[] = {0, 1, 1.5, 2, 4, 8};
struct Row {
  int pp;
  double makespan[6], bound[6];
};
// The spec's table: m = 64, unit times, one-way latency as in kLatencies.
constexpr Row kTable[] = {
    {2, {388, 393, 396, 429, 561, 825}, {387, 389, 390, 391, 395, 403}},
    {3, {394, 399, 402, 435, 567, 831}, {393, 395, 396, 397, 401, 409}},
    {4, {400, 405, 408, 441, 573, 837}, {399, 401, 402, 403, 407, 415}},
    {5, {406, 411, 414, 447, 579, 843}, {405, 407, 408, 409, 413, 421}},
};

TEST(Simulate, TheSpecsTable) {
  for (const Row& row : kTable)
    for (std::size_t i = 0; i < std::size(kLatencies); ++i) {
      const Schedule schedule = hairpin(row.pp, 64);
      EXPECT_EQ(at_unit_times(schedule, kLatencies[i]).makespan, row.makespan[i])
          << "pp " << row.pp << " latency " << kLatencies[i];
      EXPECT_EQ(bound_at_unit_times(schedule, kLatencies[i]), row.bound[i])
          << "pp " << row.pp << " latency " << kLatencies[i];
    }
}

TEST(Simulate, SixMicrobatchesOverThreeRanks) {
  const Simulation s = at_unit_times(hairpin(3, 6));
  EXPECT_EQ(s.makespan, 46);
  EXPECT_THAT(s.busy, ElementsAre(36, 36, 36));
  EXPECT_NEAR(s.mean_bubble, 10.0 / 46, 1e-12);
}

TEST(Simulate, EachFurtherMicrobatchCostsSix) {
  for (const double latency : {0.0, 1.0, 1.5})
    for (int pp = 2; pp <= 8; ++pp)
      for (int m = 3; m < 64; ++m)
        EXPECT_EQ(at_unit_times(hairpin(pp, m + 1), latency).makespan -
                      at_unit_times(hairpin(pp, m), latency).makespan,
                  6)
            << "pp " << pp << " m " << m << " latency " << latency;
}

TEST(Simulate, PeaksInFlight) {
  for (int pp = 2; pp <= 8; ++pp) {
    const PeakInFlight peak = at_unit_times(hairpin(pp, 64)).peak_in_flight;
    EXPECT_EQ(peak.rank[0], pp + 2);
    EXPECT_EQ(peak.stage.front(), pp + 2);
    EXPECT_EQ(peak.stage.back(), 1);
    for (int rank = 1; rank < pp; ++rank)
      EXPECT_EQ(peak.rank[static_cast<std::size_t>(rank)], pp - rank + 1) << "rank " << rank;
  }
}

TEST(Simulate, PeaksCountEveryDomainOfTheEdge) {
  const PeakInFlight peak = at_unit_times(hairpin(2, 8, 3)).peak_in_flight;
  EXPECT_THAT(peak.rank, ElementsAre(3 * 3 + 1, 2, 2, 2));
}

TEST(Simulate, PeaksCountAReplicasOwnMicrobatches) {
  EXPECT_THAT(at_unit_times(hairpin(2, 8, 3, 3)).peak_in_flight.rank,
              ElementsAre(4, 4, 4, 2, 2, 2));
  EXPECT_THAT(at_unit_times(hairpin(2, 8, 2, 4)).peak_in_flight.rank,
              ElementsAre(3, 3, 3, 3, 2, 2));
}

// GPipe's and 1F1B's classical makespan with equal stages: (m + p - 1)(f + b).
TEST(Simulate, ALineOfEqualStagesHasTheClassicalBubble) {
  for (const char* kind : {"gpipe", "1f1b"})
    for (int pp = 1; pp <= 8; ++pp)
      for (const int m : {1, 3, 8, 20}) {
        const Schedule schedule = generate(kind, {pp, m}).value();
        const Simulation s = at_unit_times(schedule);
        EXPECT_EQ(s.makespan, (m + pp - 1) * 6) << kind << " pp " << pp << " m " << m;
        EXPECT_NEAR(s.mean_bubble, (pp - 1.0) / (m + pp - 1), 1e-12);
        EXPECT_EQ(s.peak_in_flight.rank[0], kind == std::string("gpipe") ? m : std::min(pp, m));
      }
}

TEST(Simulate, TimesOfEachOp) {
  const Schedule schedule = hairpin(2, 1);
  const Simulation s = at_unit_times(schedule, 10);
  // FS 0-1, 10 up, F 11-13, 10 down, FE 23-24, BS 24-26, 10 up, B 36-40, 10 down, BE 50-52.
  std::vector<double> starts, ends;
  for (const Span& span : s.spans[0]) starts.push_back(span.start), ends.push_back(span.end);
  EXPECT_THAT(starts, ElementsAre(0, 23, 24, 50));
  EXPECT_THAT(ends, ElementsAre(1, 24, 26, 52));
  EXPECT_EQ(s.spans[1][0].start, 11);
  EXPECT_EQ(s.spans[1][1].end, 40);
  EXPECT_EQ(bound_at_unit_times(schedule, 10), 52);  // the round trip
}

TEST(Simulate, TheEdgeWorksForEveryDomain) {
  const Schedule schedule = hairpin(2, 4, 3);
  EXPECT_THAT(at_unit_times(schedule).busy, ElementsAre(3 * 4 * 6, 4 * 6, 4 * 6, 4 * 6));
  EXPECT_EQ(bound_at_unit_times(schedule), 3 * 4 * 6);
}

TEST(Simulate, TheEdgesReplicasShareItsWork) {
  // Nine microbatches: five for replica 0, four for replica 1.
  const Schedule schedule = hairpin(2, 3, 3, 2);
  EXPECT_THAT(at_unit_times(schedule).busy, ElementsAre(5 * 6, 4 * 6, 3 * 6, 3 * 6, 3 * 6));
  EXPECT_EQ(bound_at_unit_times(schedule), 5 * 6);
  EXPECT_EQ(bound_at_unit_times(hairpin(2, 3, 3, 9)), bound_at_unit_times(hairpin(2, 3)));
}

// A replica for each domain is the one-domain pipeline, several times over.
TEST(Simulate, AReplicaForEachDomainCostsNothing) {
  for (int pp = 2; pp <= 5; ++pp)
    for (const double latency : kLatencies)
      EXPECT_EQ(at_unit_times(hairpin(pp, 10, 3, 3), latency).makespan,
                at_unit_times(hairpin(pp, 10), latency).makespan)
          << "pp " << pp << " latency " << latency;
}

TEST(Simulate, MoreReplicasThanDomainsAreNoSlower) {
  for (int pp = 2; pp <= 5; ++pp)
    for (int m = 1; m <= 12; ++m)
      for (int domains = 1; domains <= 4; ++domains)
        for (const double latency : kLatencies)
          for (int edges = domains + 1; edges <= std::min(2 * domains + 2, m * domains); ++edges)
            EXPECT_LE(at_unit_times(hairpin(pp, m, domains, edges), latency).makespan,
                      at_unit_times(hairpin(pp, m), latency).makespan)
                << "pp " << pp << " m " << m << " domains " << domains << " edges " << edges
                << " latency " << latency;
}

TEST(Simulate, NoLatencyInsideASite) {
  EXPECT_EQ(at_unit_times(hairpin(5, 1), 10).makespan, at_unit_times(hairpin(5, 1)).makespan + 40);
  const Schedule line = generate("1f1b", {3, 4}).value();
  EXPECT_EQ(at_unit_times(line, 10).makespan, at_unit_times(line).makespan);
}

TEST(Simulate, Refusals) {
  const Schedule schedule = hairpin(2, 2);
  const auto refusal = [&schedule](const Costs& costs) {
    const auto s = simulate(schedule, costs);
    EXPECT_FALSE(lower_bound(schedule, costs));
    return s ? std::string("accepted") : s.error().message;
  };
  Costs costs = unit_costs(schedule);
  costs.forward.pop_back();
  EXPECT_THAT(refusal(costs), HasSubstr("2 forward and 3 backward times were given for 3 stages"));
  costs = unit_costs(schedule);
  costs.backward[1] = -1;
  EXPECT_THAT(refusal(costs), HasSubstr("the times of stage 1 are 2 and -1"));
  costs.backward[1] = std::nan("");
  EXPECT_THAT(refusal(costs), HasSubstr("must be finite"));
  costs.backward[1] = HUGE_VAL;
  EXPECT_THAT(refusal(costs), HasSubstr("must be finite"));
  costs = unit_costs(schedule);
  costs.link.latency = -0.5;
  EXPECT_THAT(refusal(costs), HasSubstr("latency is -0.5"));
  Schedule broken = schedule;
  broken.ranks[1].pop_back();
  EXPECT_EQ(simulate(broken, unit_costs(broken)).error().message, "B2 is missing on rank 1");
}

}  // namespace
}  // namespace hairpin::schedule
