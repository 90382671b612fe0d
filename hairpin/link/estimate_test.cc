#include "hairpin/link/estimate.h"

#include <gtest/gtest.h>

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

constexpr Moment kStart{};
constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

// Two sides whose clocks began at other times.
struct Sides {
  Estimator edge{wire::Role::edge, kStart};
  Estimator cloud{wire::Role::cloud, kStart + 1000s};

  // The edge's heartbeat after `away` at the cloud, which holds it for `held` and answers.
  void round_trip(Moment at, Moment::duration away, Moment::duration held, Moment::duration back) {
    ASSERT_TRUE(cloud.came(edge.heartbeat(at), at + 1000s + away));
    ASSERT_TRUE(edge.came(cloud.heartbeat(at + 1000s + away + held), at + away + held + back));
  }
};

TEST(Estimator, TheRoundTripIsWithoutTheTimeHeld) {
  Sides sides;
  EXPECT_EQ(sides.edge.estimate().rtt_samples, 0u);
  sides.round_trip(kStart + 1s, 30ms, 700ms, 70ms);
  const auto first = sides.edge.estimate();
  EXPECT_EQ(first.rtt_samples, 1u);
  EXPECT_NEAR(first.rtt_seconds, 0.1, 1e-9);
  sides.round_trip(kStart + 3s, 90ms, 0ms, 90ms);
  sides.round_trip(kStart + 4s, 40ms, 5ms, 40ms);
  const auto third = sides.edge.estimate();
  EXPECT_EQ(third.rtt_samples, 3u);
  EXPECT_NEAR(third.rtt_seconds, (0.1 * 7 / 8 + 0.18 / 8) * 7 / 8 + 0.08 / 8, 1e-9);
  EXPECT_NEAR(third.min_rtt_seconds, 0.08, 1e-9);
}

TEST(Estimator, TheLeastRoundTripForgets) {
  Sides sides;
  sides.round_trip(kStart + 1s, 10ms, 0ms, 10ms);
  for (int i = 2; i <= 8; ++i) sides.round_trip(kStart + i * 1s, 50ms, 0ms, 50ms + i * 1ms);
  EXPECT_NEAR(sides.edge.estimate().min_rtt_seconds, 0.02, 1e-9);
  sides.round_trip(kStart + 9s, 60ms, 0ms, 60ms);
  EXPECT_NEAR(sides.edge.estimate().min_rtt_seconds, 0.102, 1e-9);
}

TEST(Estimator, AHoldLongerThanTheTripIsARoundTripOfNothing) {
  Estimator edge(wire::Role::edge, kStart);
  const auto sent = edge.heartbeat(kStart + 1s).sent;
  ASSERT_TRUE(edge.came({.sent = 9, .echo = sent, .held = 100}, kStart + 1s + 50us));
  EXPECT_EQ(edge.estimate().rtt_samples, 1u);
  EXPECT_EQ(edge.estimate().rtt_seconds, 0);
}

TEST(Estimator, WhatWasNeverSentCannotBeEchoed) {
  Estimator edge(wire::Role::edge, kStart);
  const auto sent = edge.heartbeat(kStart + 1s).sent;
  const auto refused = edge.came({.sent = 9, .echo = sent + 1}, kStart + 2s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
}

// 10 MiB in a second.
wire::Arrival arrival_at(Moment from) {
  return {.ended = from + 1s, .measured_from = from, .bytes_after = 10 * kMebi};
}

TEST(Estimator, BothSidesKnowBothBandwidths) {
  Sides sides;
  sides.cloud.came(arrival_at(kStart));
  sides.edge.came(
      wire::Arrival{.ended = kStart + 4s, .measured_from = kStart, .bytes_after = 10 * kMebi});
  sides.round_trip(kStart + 5s, 1ms, 1ms, 1ms);
  sides.round_trip(kStart + 6s, 1ms, 1ms, 1ms);
  for (const auto& estimate : {sides.edge.estimate(), sides.cloud.estimate()}) {
    EXPECT_DOUBLE_EQ(estimate.up_bytes_per_second, 10.0 * kMebi);
    EXPECT_DOUBLE_EQ(estimate.down_bytes_per_second, 2.5 * kMebi);
    EXPECT_EQ(estimate.up_samples, 1u);
    EXPECT_EQ(estimate.down_samples, 1u);
  }
}

TEST(RateMeter, ShortFramesMakeASampleTogether) {
  RateMeter meter;
  for (int i = 0; i < 3; ++i) meter.add(RateMeter::kSampleBytes / 4, 1ms);
  EXPECT_EQ(meter.samples(), 0u);
  EXPECT_EQ(meter.bytes_per_second(), 0);
  meter.add(RateMeter::kSampleBytes / 4, 1ms);
  EXPECT_EQ(meter.samples(), 1u);
  EXPECT_DOUBLE_EQ(meter.bytes_per_second(), RateMeter::kSampleBytes / 0.004);
  meter.add(0, 1s);     // nothing came: no sample
  meter.add(100, 0ns);  // nor without a time
  EXPECT_DOUBLE_EQ(meter.bytes_per_second(), RateMeter::kSampleBytes / 0.004);
}

TEST(RateMeter, OnlyTheLastSamplesCount) {
  RateMeter meter;
  meter.add(kMebi, 100s);
  for (std::size_t i = 0; i < RateMeter::kSamples; ++i) meter.add(kMebi, 1s);
  EXPECT_DOUBLE_EQ(meter.bytes_per_second(), kMebi);
  EXPECT_EQ(meter.samples(), RateMeter::kSamples + 1);
}

}  // namespace
}  // namespace hairpin::link
