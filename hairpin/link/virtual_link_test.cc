#include "hairpin/link/virtual_link.h"

#include <gtest/gtest.h>

#include "hairpin/wire/fragment.h"

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kFragment = std::uint64_t{64} << 10;

// A bulk frame of `fragments` whole fragments.
wire::WeightsChunk frame_of(std::uint64_t fragments, std::uint32_t entry = 0) {
  return {.entry = entry, .payload = Bytes(fragments * kFragment - wire::kHeaderBytes - 12)};
}

// One fragment takes a millisecond.
constexpr double kRate = (kFragment + wire::kFragmentHeaderBytes) * 1000.0;

VirtualLinkOptions slow_up() {
  return {.up = {.latency = 50ms, .bytes_per_second = kRate}, .down = {.latency = 30ms}};
}

struct Raised : VirtualLink {
  explicit Raised(VirtualLinkOptions options) : VirtualLink(std::move(options)) {
    for (auto* end : {&edge(), &cloud()}) end->set_max_frame_bytes(std::uint64_t{128} << 20);
  }
};

TEST(VirtualLink, AFrameTakesItsTimeOnTheLineAndTheLatency) {
  Raised link(slow_up());
  ASSERT_TRUE(link.edge().send(frame_of(10)));
  link.advance(60ms - 1ns);
  EXPECT_EQ(link.cloud().received().messages, 0u);
  link.advance(1ns);
  EXPECT_EQ(link.cloud().received().messages, 1u);
  EXPECT_TRUE(link.cloud().receive());
}

TEST(VirtualLink, FirstInFirstOut) {
  Raised link(slow_up());
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(link.edge().send(frame_of(2, i)));
  for (std::uint32_t i = 0; i < 3; ++i) {
    while (link.cloud().received().messages <= i) ASSERT_TRUE(link.advance_to_next());
    EXPECT_EQ(link.now().time_since_epoch(), 50ms + 2ms * (i + 1));
    EXPECT_EQ(std::get<wire::WeightsChunk>(link.cloud().receive().value()).entry, i);
  }
  EXPECT_FALSE(link.advance_to_next());
}

// 64 MiB take a second; what is small waits for one fragment at most.
TEST(VirtualLink, ControlBehindALongFrameWaitsForOneFragment) {
  Raised link(slow_up());
  ASSERT_TRUE(link.edge().send(frame_of(1024)));
  link.advance(500ms);
  ASSERT_TRUE(link.edge().send(wire::Manifest{.step = 7}));
  const auto sent = link.now();
  while (link.cloud().received().messages == 0) ASSERT_TRUE(link.advance_to_next());
  EXPECT_EQ(std::get<wire::Manifest>(link.cloud().receive().value()).step, 7u);
  EXPECT_GT(link.now() - sent, 50ms);
  EXPECT_LE(link.now() - sent, 50ms + 1ms + 10us);
  while (link.advance_to_next()) continue;
  EXPECT_TRUE(std::holds_alternative<wire::WeightsChunk>(link.cloud().receive().value()));
}

TEST(VirtualLink, TheAccountsAreExact) {
  Raised link(slow_up());
  link.advance(5ms);
  ASSERT_TRUE(link.edge().send(frame_of(4)));
  ASSERT_TRUE(link.edge().send(frame_of(6)));
  link.advance(100ms);
  const auto sent = link.edge().sent();
  EXPECT_EQ(sent.queueing, 4ms);
  EXPECT_EQ(sent.transfer, 10ms);
  EXPECT_EQ(sent.idle, 95ms);
  const auto received = link.cloud().received();
  EXPECT_EQ(received.transfer, 3ms + 5ms);  // from the first fragment's end
  EXPECT_EQ(received.queueing, 0ns);
  EXPECT_EQ(received.idle, 105ms - 8ms);
  ASSERT_TRUE(link.cloud().receive());
  EXPECT_EQ(link.cloud().received().queueing, 105ms - (5ms + 4ms + 50ms));
}

TEST(VirtualLink, BothSidesMeasureTheLink) {
  auto options = slow_up();
  options.down.bytes_per_second = 4 * kRate;
  options.heartbeat_interval = 250ms;
  Raised link(options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(link.edge().send(frame_of(30)));
    ASSERT_TRUE(link.cloud().send(frame_of(30)));
    link.advance(200ms);
  }
  const double payload = static_cast<double>(kFragment) / (kFragment + wire::kFragmentHeaderBytes);
  for (auto* end : {&link.edge(), &link.cloud()}) {
    const auto estimate = end->estimate();
    EXPECT_GE(estimate.rtt_samples, 10u);
    EXPECT_NEAR(estimate.min_rtt_seconds, 0.080, 0.0005);
    EXPECT_NEAR(estimate.rtt_seconds, 0.080, 0.002);
    EXPECT_GE(estimate.up_samples, 15u);
    EXPECT_NEAR(estimate.up_bytes_per_second, kRate * payload, kRate * 0.01);
    EXPECT_NEAR(estimate.down_bytes_per_second, 4 * kRate * payload, 4 * kRate * 0.01);
  }
}

TEST(VirtualLink, JitterKeepsTheOrderAndFollowsItsSeed) {
  const auto arrivals = [](std::uint64_t seed) {
    Raised link({.up = {.latency = 1ms, .jitter = 5ms}, .seed = seed});
    std::vector<std::chrono::nanoseconds> times;
    for (std::uint32_t i = 0; i < 50; ++i) {
      EXPECT_TRUE(link.edge().send(wire::StepScalars{.step = i}));
      link.advance(100us);
    }
    for (std::uint32_t i = 0; i < 50; ++i) {
      while (link.cloud().received().messages <= i) EXPECT_TRUE(link.advance_to_next());
      EXPECT_EQ(std::get<wire::StepScalars>(link.cloud().receive().value()).step, i);
      times.push_back(link.now().time_since_epoch());
    }
    return times;
  };
  EXPECT_EQ(arrivals(1), arrivals(1));
  EXPECT_NE(arrivals(1), arrivals(2));
}

TEST(VirtualLink, ARefusalAndAGoodbyeAsOverAnyLink) {
  Raised link(slow_up());
  ASSERT_TRUE(link.edge().send(frame_of(3)));
  ASSERT_TRUE(link.edge().send(wire::Goodbye{}));
  link.advance(1s);
  EXPECT_TRUE(std::holds_alternative<wire::WeightsChunk>(link.cloud().receive().value()));
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(link.cloud().receive().value()));
  EXPECT_TRUE(link.edge().flush());
  link.cloud().fail({ErrorKind::peer, "no"});
  link.advance(1s);
  EXPECT_EQ(link.edge().receive().error().message, "the cloud refused: no");
}

}  // namespace
}  // namespace hairpin::link
