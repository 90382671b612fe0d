#include "hairpin/schedule/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/simulate.h"
#include "hairpin/schedule/test_traces.h"
#include "hairpin/schedule/timeline.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

constexpr double kStart = 1.7e15, kPause = 1e6;

struct Case {
  Schedule schedule;
  Times times;
  Costs costs;
};

Case some_case(bool split) {
  Case made;
  made.schedule =
      generate("hairpin-1f1b",
               {.pp = 3, .microbatches = 3, .domains = 2, .edges = 2, .split_backward = split})
          .value();
  made.times = {.forward = {1000, 2000, 3000, 1500},
                .backward = {2000, 4000, 6000, 3000},
                .backward_weight = {0, 1000, 3500, 1250},
                .latency = 8000,
                .up = {100, 200},
                .down = {300, 400}};
  if (!split) made.times.backward_weight.clear();
  made.costs = to_costs(made.schedule, made.times).value();
  return made;
}

void expect_is(const MeasuredStep& step, const Case& of) {
  const Simulation want = simulate(of.schedule, of.costs).value();
  EXPECT_EQ(step.makespan, want.makespan);
  ASSERT_EQ(step.spans.size(), want.spans.size());
  for (std::size_t rank = 0; rank < want.spans.size(); ++rank) {
    EXPECT_EQ(step.busy(rank), want.busy[rank]);
    ASSERT_EQ(step.spans[rank].size(), want.spans[rank].size());
    for (std::size_t i = 0; i < want.spans[rank].size(); ++i)
      EXPECT_EQ(step.spans[rank][i].start, want.spans[rank][i].start);
  }
  EXPECT_EQ(step.frames.size(), want.crossings.size());
  EXPECT_EQ(step.link_busy(true), want.link_busy_up);
  EXPECT_EQ(step.link_busy(false), want.link_busy_down);
}

// What was simulated and written down comes back, from any step.
TEST(Measured, IsTheReplayThatItWasMadeOf) {
  for (const bool split : {false, true}) {
    const Case one = some_case(split);
    const auto traces = traces_of(one.schedule, one.costs, 3, kStart, kPause, 0);
    EXPECT_EQ(traced_steps(one.schedule, traces).value(), 3);
    for (const int number : {1, 3}) {
      const auto step = measured_step(one.schedule, traces, number).value();
      EXPECT_EQ(step.cloud_shift, 0);
      expect_is(step, one);
      EXPECT_EQ(median_times(one.schedule, step, 8000).value(), one.times);
    }
  }
}

// A receiver sees a frame's first bytes late. Where frames follow each other, all is made up for,
// whatever the clocks say; a frame that found the link free has only its least delay.
TEST(Measured, AFrameBeginsWhereTheOneBeforeItEnded) {
  Case one = some_case(false);
  one.times.up = one.times.down = {4000, 4000};  // more than the edge takes: they queue
  one.costs = to_costs(one.schedule, one.times).value();
  for (const double ahead : {0.0, 1e9}) {
    auto traces = traces_of(one.schedule, one.costs, 1, kStart, kPause, ahead);
    int late = 0;
    for (TraceFile& trace : traces) {
      std::map<int, double> free;  // by thread
      for (TracedSpan& span : trace.link) {
        const bool behind = free.contains(span.thread) && free[span.thread] == span.start;
        free[span.thread] = span.end;
        if (!behind) continue;
        const bool received = trace.threads.at(span.thread) == "link received";
        span.start += received ? 2500 : -1000;  // and the sender's kernel takes them early
        late += received;
      }
    }
    EXPECT_GT(late, 5);
    const auto step = measured_step(one.schedule, traces, 1).value();
    const Simulation want = simulate(one.schedule, one.costs).value();
    EXPECT_EQ(step.link_busy(true), want.link_busy_up);
    EXPECT_EQ(step.link_busy(false), want.link_busy_down);
    EXPECT_EQ(median_times(one.schedule, step, 8000).value(), one.times);
  }
}

TEST(Measured, ALineOfRanks) {
  Case one;
  one.schedule = generate("zb-h1", {.pp = 3, .microbatches = 4, .domains = 2}).value();
  one.costs = unit_costs(one.schedule);
  expect_is(measured_step(one.schedule, traces_of(one.schedule, one.costs, 2, kStart, kPause, 0), 2)
                .value(),
            one);
}

// Both directions take equally long in the replay, so the middle is exact where what reads a result
// waits for nothing else; here at the least some of it is found.
TEST(Measured, AClockThatIsVisiblyOffIsMoved) {
  const Case one = some_case(false);
  for (const double ahead : {1e9, -1e9}) {
    const auto traces = traces_of(one.schedule, one.costs, 2, kStart, kPause, ahead);
    const auto step = measured_step(one.schedule, traces, 2).value();
    EXPECT_NEAR(step.cloud_shift, -ahead, 8300);  // a latency and a transfer: the room there is
    for (std::size_t rank = 0; rank < step.spans.size(); ++rank)
      EXPECT_EQ(step.busy(rank), simulate(one.schedule, one.costs)->busy[rank]);
  }
}

// Off by less than what could be seen: left alone.
TEST(Measured, AClockThatMayBeRightIsLeftAlone) {
  const Case one = some_case(false);
  const auto traces = traces_of(one.schedule, one.costs, 1, kStart, kPause, 5000);
  EXPECT_EQ(measured_step(one.schedule, traces, 1)->cloud_shift, 0);
}

TEST(Measured, WithoutOneSitesTraceItsLanesAreEmpty) {
  const Case one = some_case(false);
  auto traces = traces_of(one.schedule, one.costs, 1, kStart, kPause, 0);
  traces.pop_back();
  const auto step = measured_step(one.schedule, traces, 1).value();
  EXPECT_FALSE(step.spans[0].empty());
  EXPECT_TRUE(step.spans[2].empty());
  EXPECT_EQ(step.link_busy(true), simulate(one.schedule, one.costs)->link_busy_up);  // as sent
  const auto times = median_times(one.schedule, step, 0);
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message, HasSubstr("stage 1 takes; set output.trace"));
  const Timeline timeline = timeline_of(one.schedule, step);
  EXPECT_EQ(timeline.lanes.size(), 6u + 2);
  EXPECT_TRUE(timeline.measured);
}

std::string refusal(const Schedule& schedule, const std::vector<TraceFile>& traces,
                    std::int64_t step) {
  const auto made = measured_step(schedule, traces, step);
  return made ? "accepted" : made.error().message;
}

TEST(Measured, TracesThatDoNotFit) {
  const Case one = some_case(false);
  const auto traces = traces_of(one.schedule, one.costs, 2, kStart, kPause, 0);
  EXPECT_THAT(refusal(one.schedule, traces, 3), HasSubstr("steps 1 to 2, and not step 3"));
  EXPECT_THAT(refusal(one.schedule, traces, 0), HasSubstr("not step 0"));
  EXPECT_THAT(refusal(one.schedule, {}, 1), HasSubstr("no ops of any rank"));
  EXPECT_THAT(refusal(one.schedule, {traces[0], traces[0]}, 1), HasSubstr("twice"));
  auto other = traces;
  other[0].ops[0].name = "F7";
  EXPECT_THAT(refusal(one.schedule, other, 1), HasSubstr("an op \"F7\""));
  for (const char* name :
       {"edge rank pp 0, dp 2, tp 0", "edge rank pp 1, dp 0, tp 0", "cloud rank pp 2, dp 0, tp 0",
        "cloud rank pp 0, dp 2, tp 0", "site rank pp 0, dp 0, tp 0"}) {
    other = traces;
    other[0].threads[0] = name;
    EXPECT_THAT(refusal(one.schedule, other, 1), HasSubstr("no list for")) << name;
  }
  // A second rank of a tensor-parallel group runs the same list.
  other = traces;
  other[0].threads[50] = "edge rank pp 0, dp 0, tp 1";
  for (auto span : traces[0].ops) {
    span.thread = 50;
    other[0].ops.push_back(span);
  }
  expect_is(measured_step(one.schedule, other, 1).value(), one);
}

}  // namespace
}  // namespace hairpin::schedule
