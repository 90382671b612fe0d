#include "hairpin/schedule/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

Schedule generated(const char* kind, int pp, int m, Shape shape, bool split) {
  GenerateOptions options{pp, m, 1, 1, shape};
  options.split_backward = split;
  return generate(kind, options).value();
}

// F = I = W = 2. Each rank works 6 a microbatch, and waits for (p - 1)(F + I - W) in all (Qi et
// al., 2023, table 2: the bubble of ZB-H1), a third of 1F1B's, in the memory of 1F1B.
TEST(ZeroBubble, HasAThirdOfTheBubbleInTheSameMemory) {
  for (int pp = 1; pp <= 8; ++pp)
    for (const int m : {pp, pp + 1, 2 * pp, 3 * pp + 1, 64}) {
      const Schedule zb = generated("zb-h1", pp, m, Shape::line, false);
      const Simulation s = simulate(zb, unit_costs(zb)).value();
      EXPECT_EQ(s.makespan, 6 * m + 2 * (pp - 1)) << "pp " << pp << " m " << m;
      const Schedule one = generated("1f1b", pp, m, Shape::line, false);
      const PeakInFlight peak = peak_in_flight(one);
      EXPECT_EQ(s.peak_in_flight.stage, peak.stage);
      const auto& held = s.peak_in_flight.held;
      EXPECT_EQ(*std::max_element(held.begin(), held.end()), std::min(pp, m));
    }
}

// Whatever the times, and so whatever waiting they leave.
RC_GTEST_PROP(ZeroBubble, NeedsNoMoreMemoryThan1F1B, ()) {
  const int pp = *rc::gen::inRange(1, 9), m = *rc::gen::inRange(1, 20);
  GenerateOptions options{pp, m};
  options.times.emplace();
  for (int stage = 0; stage < pp; ++stage) {
    options.times->forward.push_back(*rc::gen::inRange(1, 50));
    options.times->backward.push_back(2 * *rc::gen::inRange(1, 50));
  }
  const PeakInFlight peak = peak_in_flight(generate("zb-h1", options).value());
  for (int stage = 0; stage < pp; ++stage) {
    RC_ASSERT(peak.stage[static_cast<std::size_t>(stage)] == std::min(pp - stage, m));
    RC_ASSERT(peak.held[static_cast<std::size_t>(stage)] <= std::min(pp, m));
  }
}

// All forwards and input gradients where the whole schedule has forwards and backwards.
TEST(Split, KeepsTheOrderOfEverythingElse) {
  for (const auto& [kind, shape] :
       {std::pair("gpipe", Shape::line), std::pair("1f1b", Shape::line),
        std::pair("gpipe", Shape::hairpin), std::pair("hairpin-1f1b", Shape::hairpin)}) {
    const Schedule whole = generated(kind, 4, 9, shape, false);
    Schedule split = generated(kind, 4, 9, shape, true);
    EXPECT_FALSE(split.is_split(0));
    EXPECT_TRUE(split.is_split(1));
    for (std::size_t rank = 0; rank < split.ranks.size(); ++rank) {
      std::erase_if(split.ranks[rank],
                    [](const Op& op) { return op.kind == OpKind::backward_weight; });
      for (Op& op : split.ranks[rank])
        if (op.kind == OpKind::backward_input) op.kind = OpKind::backward;
      EXPECT_EQ(split.ranks[rank], whole.ranks[rank]) << kind << " rank " << rank;
    }
  }
}

TEST(Split, MakesNoStepLonger) {
  for (const auto& [kind, shape] :
       {std::pair("gpipe", Shape::line), std::pair("1f1b", Shape::line),
        std::pair("gpipe", Shape::hairpin), std::pair("hairpin-1f1b", Shape::hairpin)})
    for (int pp = 2; pp <= 5; ++pp)
      for (const int m : {1, 4, 17})
        for (const std::int64_t latency : {0, 3000, 11000}) {
          GenerateOptions options{pp, m, 1, 1, shape};
          const Schedule layout = layout_of(kind, options).value();
          options.times = unit_times(layout);
          options.times->latency = shape == Shape::hairpin ? latency : 0;
          const Costs costs = to_costs(layout, *options.times).value();
          const double whole = simulate(generate(kind, options).value(), costs)->makespan;
          options.split_backward = true;
          const Simulation split = simulate(generate(kind, options).value(), costs).value();
          EXPECT_LE(split.makespan, whole) << kind << " pp " << pp << " m " << m;
        }
}

// 1F1B over four ranks, F = I = W: with weights put off, the last rank's gradients leave earlier.
TEST(Split, ShortensAPipelinesDrain) {
  const Schedule split = generated("1f1b", 4, 8, Shape::line, true);
  const Costs costs = unit_costs(split);
  EXPECT_EQ(simulate(generated("1f1b", 4, 8, Shape::line, false), costs)->makespan, 66);
  EXPECT_LE(simulate(split, costs)->makespan, 66 - 3 * 2);
}

TEST(Split, KeepsPendingWeightsWithinTheirCap) {
  for (const int cap : {1, 2, 3}) {
    GenerateOptions options{5, 12};
    options.split_backward = true;
    options.pending_weights_cap = {cap};
    const Schedule schedule = generate("hairpin-1f1b", options).value();
    const auto pending = peak_in_flight(schedule).pending_weights;
    EXPECT_LE(*std::max_element(pending.begin(), pending.end()), cap);
    EXPECT_EQ(pending.front(), 0);  // the head is whole
  }
}

}  // namespace
}  // namespace hairpin::schedule
