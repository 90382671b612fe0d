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

double bound_at(const Schedule& schedule, const Costs& costs) {
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

// Two microbatches over one cloud rank; FS 1, FE 1, BS 2, BE 2, F 2, B 4, latency 1. Worked out by
// hand: up takes 3 a message, down 1.
TEST(Simulate, ADirectionOfTheLinkIsAQueue) {
  const Schedule schedule = hairpin(2, 2);  // edge FS1 FS2 FE1 BS1 FE2 BS2 BE1 BE2
  Costs costs = unit_costs(schedule);
  costs.link = {.latency = 1, .up = {3, 3}, .down = {1, 1}};
  const Simulation s = simulate(schedule, costs).value();
  // FS1 0-1, up 1-4, there at 5; FS2 1-2, up 4-7, there at 8. F1 5-7, down 7-8, back at 9; F2 8-10,
  // down 10-11, back at 12. FE1 9-10, BS1 10-12, up 12-15, there at 16; FE2 12-13, BS2 13-15, up
  // 15-18, there at 19. B1 16-20, down 20-21, back at 22; B2 20-24, down 24-25, back at 26.
  // BE1 22-24, BE2 26-28.
  std::vector<double> starts;
  for (const Span& span : s.spans[0]) starts.push_back(span.start);
  EXPECT_THAT(starts, ElementsAre(0, 1, 9, 10, 12, 13, 22, 26));
  EXPECT_EQ(s.makespan, 28);
  EXPECT_EQ(s.step, 28);
  EXPECT_EQ(s.link_busy_up, 12);
  EXPECT_EQ(s.link_busy_down, 4);
  EXPECT_EQ(s.crossings[1].queued, 2);
  EXPECT_EQ(s.crossings[1].start, 4);
  EXPECT_EQ(s.crossings[1].arrival, 8);
}

TEST(Simulate, ActivationsAndGradientsOfAllDomainsShareTheLink) {
  const Schedule schedule = hairpin(2, 8, 3, 2);
  Costs costs = unit_costs(schedule);
  costs.link = {.latency = 1, .up = {2, 5}, .down = {3, 0}};
  const Simulation s = simulate(schedule, costs).value();
  double free[2] = {0, 0};
  for (const Crossing& c : s.crossings) {
    const bool forward = c.op.kind == OpKind::forward;
    EXPECT_EQ(c.start, std::max(c.queued, free[c.up]));
    EXPECT_EQ(c.end - c.start, c.up ? (forward ? 2 : 5) : (forward ? 3 : 0));
    EXPECT_EQ(c.arrival, c.end + 1);
    free[c.up] = c.end;
  }
  EXPECT_EQ(s.crossings.size(), 4u * 24);
  EXPECT_EQ(s.link_busy_up, 24 * 7);
  EXPECT_EQ(bound_at(schedule, costs), 24 * 7);  // more than the edge's 12 x 6
}

// F = I = W = 1 over two ranks with one microbatch at a time: by hand.
TEST(Simulate, WeightsDelayNobody) {
  Schedule schedule = generate("1f1b", {2, 2}).value();
  schedule.split_backward = {false, true};
  schedule.ranks[1] = {{OpKind::forward, 1, 0},         {OpKind::backward_input, 1, 0},
                       {OpKind::forward, 1, 1},         {OpKind::backward_input, 1, 1},
                       {OpKind::backward_weight, 1, 0}, {OpKind::backward_weight, 1, 1}};
  const Costs costs{.forward = {1, 1}, .backward = {2, 2}};
  // Rank 1: F1 1-2, Bi1 2-3, F2 3-4, Bi2 4-5, Bw1 5-6, Bw2 6-7. Rank 0: F1 F2 0-2, B1 3-5, B2 5-7.
  const Simulation s = simulate(schedule, costs).value();
  EXPECT_EQ(s.spans[0][2].start, 3);
  EXPECT_EQ(s.makespan, 7);
  EXPECT_EQ(s.peak_in_flight.pending_weights[1], 2);
  EXPECT_EQ(s.peak_in_flight.stage[1], 1);
  EXPECT_EQ(s.peak_in_flight.held[1], 2);
  // Rank 1: from 1, six of work; or its four without weights and then the rest of B1: 1 + 4 + 2.
  EXPECT_EQ(bound_at(schedule, costs), 7);
}

// A cloud whose weights' gradients outlast the edge: its scalars come a latency after them.
TEST(Simulate, TheStepWaitsForTheCloudsScalars) {
  Schedule schedule = hairpin(2, 1);
  schedule.split_backward = {false, true, false};
  schedule.ranks[1] = {
      {OpKind::forward, 1, 0}, {OpKind::backward_input, 1, 0}, {OpKind::backward_weight, 1, 0}};
  Costs costs = unit_costs(schedule);
  costs.link.latency = 10;
  costs.backward[1] = 40;
  costs.backward_weight = {0, 38, 0};
  // As in TimesOfEachOp up to B's start at 36: Bi 36-38, BE 48-50; Bw 38-76, scalars at 86.
  const Simulation s = simulate(schedule, costs).value();
  EXPECT_EQ(s.makespan, 76);
  EXPECT_EQ(s.step, 86);
  EXPECT_EQ(at_unit_times(hairpin(2, 1), 10).step, 52);
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
  costs.link = {.up = {-1, 0}};
  EXPECT_THAT(refusal(costs), HasSubstr("transfer up is -1"));
  costs.link = {.down = {0, HUGE_VAL}};
  EXPECT_THAT(refusal(costs), HasSubstr("transfer down is inf"));
  costs = unit_costs(schedule);
  costs.backward_weight = {1, 5, 1};
  EXPECT_THAT(refusal(costs), HasSubstr("take 5 of a backward of 4"));
  costs.backward_weight = {1};
  EXPECT_THAT(refusal(costs), HasSubstr("1 times of weights' gradients"));
  for (const double bandwidth : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THAT(transfer_time(1, bandwidth).error().message, HasSubstr("must be above zero"));
  EXPECT_EQ(transfer_time(3, 2).value(), 1.5);
  Schedule broken = schedule;
  broken.ranks[1].pop_back();
  EXPECT_EQ(simulate(broken, unit_costs(broken)).error().message, "B2 is missing on rank 1");
}

}  // namespace
}  // namespace hairpin::schedule
