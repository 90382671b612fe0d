#include "hairpin/schedule/adaptation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/fingerprint.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/replay.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

constexpr const char* kAdaptive = "hairpin-adaptive";

std::shared_ptr<const Schedule> first_of(const GenerateOptions& options) {
  return std::make_shared<const Schedule>(generate(kAdaptive, options).value());
}

double step_of(const Schedule& schedule, const Times& times) {
  return replay(schedule, to_costs(schedule, times).value()).step;
}

std::optional<Agreed> measured(Adaptation& adaptation, const Times& times) {
  adaptation.add(times);
  return adaptation.choose();
}

class AdaptationOf : public testing::Test {
 protected:
  explicit AdaptationOf(GenerateOptions options = {.pp = 3, .microbatches = 16})
      : options_(std::move(options)), first_(first_of(options_)), times_(unit_times(*first_)) {}

  // Steps that measure TIMES_ until one leads to a choice; at most so many.
  std::optional<Agreed> agreed_within(int steps) {
    for (int i = 0; i < steps; ++i)
      if (auto agreed = measured(adaptation_, times_)) return agreed;
    return std::nullopt;
  }

  const GenerateOptions options_;
  const std::shared_ptr<const Schedule> first_;
  Times times_;
  Adaptation adaptation_{first_, options_, Adapt::always};
};

TEST_F(AdaptationOf, ChoosesAfterTwoSteps) {
  times_.latency = 6000;
  EXPECT_FALSE(measured(adaptation_, times_));
  EXPECT_EQ(adaptation_.schedule(), first_);
  const auto agreed = measured(adaptation_, times_);
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->schedule, adaptation_.schedule());
  EXPECT_EQ(agreed->times, times_);
  EXPECT_FALSE(agreed->same_order);
  EXPECT_LT(agreed->step, agreed->step_before);
  EXPECT_EQ(agreed->step, step_of(*agreed->schedule, times_));
  EXPECT_EQ(agreed->step_before, step_of(*first_, times_));
  EXPECT_TRUE(check(*agreed->schedule));
  GenerateOptions options = options_;
  options.times = times_;
  const auto tight = generate(kAdaptive, options).value();
  EXPECT_LE(agreed->step, 1.002 * step_of(tight, times_));
  EXPECT_FALSE(agreed_within(10));  // nothing changes
}

TEST_F(AdaptationOf, TheFirstStepAloneIsNotBelieved) {
  Times cold = times_;
  for (auto& time : cold.forward) time *= 7;
  EXPECT_FALSE(measured(adaptation_, cold));
  EXPECT_EQ(measured(adaptation_, times_)->times, times_);
}

TEST_F(AdaptationOf, ASlowerCloudIsNoticedAndNamed) {
  ASSERT_TRUE(agreed_within(2));
  times_.forward[2] *= 2, times_.backward[2] *= 2;
  EXPECT_FALSE(agreed_within(2));  // too soon after the last choice
  const auto agreed = agreed_within(1);
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->times, times_);
  EXPECT_EQ(agreed->reason, "cloud 2's time for a microbatch went from 6.0 to 12.0 ms");
  EXPECT_LE(agreed->step, agreed->step_before);
}

TEST_F(AdaptationOf, ASlowerLinkIsNoticedAndNamed) {
  ASSERT_TRUE(agreed_within(2));
  times_.latency = 10'000;
  auto agreed = agreed_within(3);
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->reason, "the link's latency went from 0.0 to 10.0 ms");
  EXPECT_LT(agreed->step, agreed->step_before);
  times_.down = {4'000, 4'000};
  agreed = agreed_within(3);
  ASSERT_TRUE(agreed);
  EXPECT_THAT(agreed->reason, HasSubstr("transfer to the edge went from 0.0 to 8.0 ms"));
}

TEST_F(AdaptationOf, OneSlowStepIsNoReason) {
  ASSERT_TRUE(agreed_within(2));
  ASSERT_FALSE(agreed_within(5));
  Times slow = times_;
  slow.forward[2] *= 4;
  EXPECT_FALSE(measured(adaptation_, slow));
  EXPECT_FALSE(measured(adaptation_, times_));
  EXPECT_FALSE(measured(adaptation_, times_));
}

TEST_F(AdaptationOf, NoiseIsNoReason) {
  ASSERT_TRUE(agreed_within(2));
  const Times calm = times_;
  for (int i = 0; i < 12; ++i) {
    Times noisy = calm;
    for (auto& time : noisy.forward) time += i % 3 * time / 12;
    if (i % 4 == 0)  // one step in four, far off
      for (auto& time : noisy.backward) time *= 3;
    EXPECT_FALSE(measured(adaptation_, noisy)) << i;
  }
}

class TakingBack : public AdaptationOf {
 protected:
  TakingBack() { times_.latency = 6000; }
  // Steps of these durations, each leading to no choice but the last one's.
  std::optional<Agreed> after(const std::vector<std::int64_t>& durations) {
    std::optional<Agreed> agreed;
    for (const auto duration : durations) {
      EXPECT_FALSE(agreed);
      adaptation_.add(times_, duration);
      agreed = adaptation_.choose();
    }
    return agreed;
  }
};

TEST_F(TakingBack, AChoiceThatTookLongerIsTakenBack) {
  const auto chosen = after({0, 1000});
  ASSERT_TRUE(chosen && !chosen->same_order);
  EXPECT_FALSE(chosen->taken_back);
  const auto agreed = after({1500, 1110, 1200});
  EXPECT_FALSE(agreed);  // the first step's duration was not known
}

TEST_F(TakingBack, AndTheOneBeforeStays) {
  ASSERT_TRUE(after({1040, 1000}));
  const auto agreed = after({900, 1110, 1101});
  ASSERT_TRUE(agreed);
  EXPECT_TRUE(agreed->taken_back);
  EXPECT_EQ(agreed->schedule, first_);
  EXPECT_EQ(adaptation_.schedule(), first_);
  EXPECT_EQ(agreed->step_before, 1101);
  EXPECT_EQ(agreed->step, 1000);
  EXPECT_FALSE(after({5000, 5000, 5000, 5000}));  // by the clock once only
  times_.latency = 16000;
  EXPECT_TRUE(after({1000, 1000}));
}

TEST_F(TakingBack, NotForATenthMoreNorWhereTimesChanged) {
  ASSERT_TRUE(after({1000, 1000}));
  EXPECT_FALSE(after({1100, 1100, 1100, 9000, 9000, 9000}));
  Adaptation other(first_, options_, Adapt::always);
  for (int i = 0; i < 2; ++i) other.add(times_, 1000);
  ASSERT_TRUE(other.choose());
  times_.latency = 40'000;
  for (int i = 0; i < 3; ++i) other.add(times_, 9000);
  const auto agreed = other.choose();
  ASSERT_TRUE(agreed);
  EXPECT_FALSE(agreed->taken_back);
}

TEST_F(AdaptationOf, PinnedAfterTheFirstChoice) {
  Adaptation pinned(first_, options_, Adapt::once);
  EXPECT_FALSE(measured(pinned, times_));
  EXPECT_TRUE(measured(pinned, times_));
  times_.latency = 50'000;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(measured(pinned, times_));
  Adaptation never(first_, options_, Adapt::never);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(measured(never, times_));
  EXPECT_EQ(never.recent().median(), times_);
}

TEST_F(AdaptationOf, KeepsTheOrderThatNothingBeats) {
  const auto agreed = agreed_within(2);  // at the unit times that the first order was made for
  ASSERT_TRUE(agreed);
  EXPECT_TRUE(agreed->same_order);
  EXPECT_EQ(agreed->schedule, first_);
  EXPECT_EQ(agreed->step, agreed->step_before);
}

TEST_F(AdaptationOf, TwoSitesComeToTheSame) {
  Adaptation other(first_, options_, Adapt::always);
  for (int i = 0; i < 40; ++i) {
    times_.latency = 1000 * (i / 5) * (i / 5);
    times_.forward[1] = 2000 + 500 * (i % 7);
    const auto here = measured(adaptation_, times_), there = measured(other, times_);
    ASSERT_EQ(here.has_value(), there.has_value());
    if (here) {
      EXPECT_EQ(*here->schedule, *there->schedule);
    }
    EXPECT_EQ(fingerprint(*adaptation_.schedule()), fingerprint(*other.schedule()));
  }
}

class LongRun : public AdaptationOf {
 protected:
  LongRun() : AdaptationOf({.pp = 2, .microbatches = 64}) {}
};

// Where the search alone would keep 49 microbatches at the head.
TEST_F(LongRun, KeepsNoMoreUnderWayThanHelps) {
  times_.latency = 4000;
  const auto agreed = agreed_within(2);
  ASSERT_TRUE(agreed);
  const auto peak = peak_in_flight(*agreed->schedule).stage;
  EXPECT_LE(peak[0], 12);
  EXPECT_LE(peak[1], 12);
  EXPECT_LE(agreed->step, 1.002 * 395'000);  // what it finds without a cap
  // With something to spare: a latency a quarter of a period longer costs little.
  Times later = times_;
  later.latency += 1500;
  EXPECT_LE(step_of(*agreed->schedule, later), 1.002 * 398'000);
}

class CappedAdaptation : public AdaptationOf {
 protected:
  CappedAdaptation() : AdaptationOf({.pp = 2, .microbatches = 16, .in_flight_cap = {4}}) {}
};

TEST_F(CappedAdaptation, KeepsWithinTheCap) {
  times_.latency = 20'000;
  const auto agreed = agreed_within(2);
  ASSERT_TRUE(agreed);
  EXPECT_TRUE(check(*agreed->schedule, {.in_flight_cap = {4, 4, 4}}));
}

TEST(Fingerprint, OfTheOrder) {
  const auto made = generate("hairpin-1f1b", {.pp = 2, .microbatches = 2}).value();
  // Of what `hairpin schedule show --json` prints, by another program's SHA-256.
  EXPECT_EQ(fingerprint(made), 3216556052211666212u);
  auto other = made;
  std::swap(other.ranks[0][0], other.ranks[0][1]);
  EXPECT_NE(fingerprint(other), fingerprint(made));
}

}  // namespace
}  // namespace hairpin::schedule
