#include "tests/wan/pipe.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <vector>

namespace hairpin::wan {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAnyQueue = 1 << 30;

// A packet whose first byte is its number.
Bytes packet(int number, std::size_t size = 1000) {
  return Bytes(size, static_cast<std::byte>(number));
}

struct Came {
  int number;
  Time at;
  bool operator==(const Came&) const = default;
};

void PrintTo(const Came& came, std::ostream* out) {
  *out << came.number << " at " << came.at.count() << " ns";
}

// Everything that comes out until then, by waking up only when the pipe says so.
std::vector<Came> drain(Pipe& pipe, Time until) {
  std::vector<Came> came;
  for (auto at = pipe.next(); at && *at <= until; at = pipe.next())
    while (const auto out = pipe.pop(*at))
      came.push_back({std::to_integer<int>(out->packet[0]), out->due});
  return came;
}

TEST(Pipe, DelayAloneKeepsDistances) {
  Pipe pipe({.delay = 10ms}, 1);
  EXPECT_EQ(pipe.next(), std::nullopt);
  pipe.push(packet(1), 5ms);
  pipe.push(packet(2), 5ms);
  pipe.push(packet(3), 6ms);
  EXPECT_EQ(pipe.next(), Time(15ms));
  EXPECT_FALSE(pipe.pop(15ms - 1ns));
  EXPECT_EQ(drain(pipe, 1s), (std::vector<Came>{{1, 15ms}, {2, 15ms}, {3, 16ms}}));
  EXPECT_EQ(pipe.next(), std::nullopt);
}

// 1000 bytes at 8 Mbit/s take 1 ms.
TEST(Pipe, RateSendsOneAfterTheOther) {
  Pipe pipe({.delay = 10ms, .bits_per_second = 8e6, .queue_bytes = kAnyQueue}, 1);
  for (int i = 1; i <= 3; ++i) pipe.push(packet(i), 0ms);
  pipe.push(packet(4, 500), 20ms);  // long after the bottleneck was last busy
  EXPECT_EQ(drain(pipe, 1s),
            (std::vector<Came>{{1, 11ms}, {2, 12ms}, {3, 13ms}, {4, 20ms + 500us + 10ms}}));
}

// What is due does not depend on how often anybody looks.
TEST(Pipe, LookingLateChangesNothing) {
  Pipe pipe({.delay = 1ms, .bits_per_second = 8e6, .queue_bytes = kAnyQueue}, 1);
  for (int i = 1; i <= 5; ++i) pipe.push(packet(i), 0ms);
  std::vector<Came> came;
  while (const auto out = pipe.pop(1s))
    came.push_back({std::to_integer<int>(out->packet[0]), out->due});
  EXPECT_EQ(came, (std::vector<Came>{{1, 2ms}, {2, 3ms}, {3, 4ms}, {4, 5ms}, {5, 6ms}}));
}

// Without a delay the bottleneck's own times are the only ones to wake up for.
TEST(Pipe, RateWithoutDelay) {
  Pipe pipe({.bits_per_second = 8e6, .queue_bytes = kAnyQueue}, 1);
  pipe.push(packet(1), 0ms);
  pipe.push(packet(2), 0ms);
  EXPECT_EQ(drain(pipe, 1s), (std::vector<Came>{{1, 1ms}, {2, 2ms}}));
}

TEST(Pipe, FullQueueDropsTheNewest) {
  Pipe pipe({.bits_per_second = 8e6, .queue_bytes = 2000}, 1);
  for (int i = 1; i <= 5; ++i) pipe.push(packet(i), 0ms);  // one is sent, two wait
  pipe.push(packet(6), 1ms);                               // room again
  EXPECT_EQ(drain(pipe, 1s), (std::vector<Came>{{1, 1ms}, {2, 2ms}, {3, 3ms}, {6, 4ms}}));
  EXPECT_EQ(pipe.counts().dropped, 2U);
  EXPECT_EQ(pipe.counts().packets, 4U);
  EXPECT_EQ(pipe.counts().bytes, 4000U);
  EXPECT_EQ(pipe.counts().most_queued_bytes, 2000U);
}

// Whatever its size: else a small queue would let nothing through.
TEST(Pipe, AnIdleBottleneckTakesAnyPacket) {
  Pipe pipe({.bits_per_second = 8e6, .queue_bytes = 10}, 1);
  pipe.push(packet(1), 0ms);
  pipe.push(packet(2), 1ms);
  EXPECT_EQ(drain(pipe, 1s).size(), 2U);
}

TEST(Pipe, LossIsSeededAndOfItsShare) {
  const auto through = [](std::uint64_t seed) {
    Pipe pipe({.loss = 0.1}, seed);
    std::vector<Time> at;
    for (int i = 0; i < 10000; ++i) pipe.push(packet(1, 1), Time(i));
    for (const auto& came : drain(pipe, 1s)) at.push_back(came.at);
    EXPECT_EQ(pipe.counts().lost + pipe.counts().packets, 10000U);
    return at;
  };
  const auto first = through(1);
  EXPECT_EQ(first, through(1));
  EXPECT_NE(first, through(2));
  EXPECT_NEAR(static_cast<double>(first.size()), 9000, 5 * 30);  // five deviations
}

TEST(Pipe, ACutCountsForWhatIsUnderWay) {
  Pipe pipe({.delay = 10ms}, 1);
  pipe.push(packet(1), 0ms);
  pipe.push(packet(2), 5ms);
  EXPECT_EQ(drain(pipe, 11ms).size(), 1U);
  pipe.change({.delay = 10ms, .loss = 1}, 12ms);
  pipe.push(packet(3), 12ms);
  EXPECT_EQ(drain(pipe, 1s).size(), 0U);
  EXPECT_EQ(pipe.counts().lost, 2U);
}

TEST(Pipe, ChangesHoldForWhatDepartsLater) {
  Pipe pipe({.delay = 10ms, .bits_per_second = 8e6, .queue_bytes = kAnyQueue}, 1);
  for (int i = 1; i <= 3; ++i) pipe.push(packet(i), 0ms);
  // The second one is being sent, the third waits.
  pipe.change({.delay = 40ms, .bits_per_second = 4e6, .queue_bytes = kAnyQueue}, 1500us);
  EXPECT_EQ(drain(pipe, 1s), (std::vector<Came>{{1, 11ms}, {2, 12ms}, {3, 44ms}}));
}

TEST(Pipe, AShorterDelayOvertakesOnlyIfAllowed) {
  for (const bool reorder : {false, true}) {
    Pipe pipe({.delay = 100ms, .reorder = reorder}, 1);
    pipe.push(packet(1), 0ms);
    pipe.change({.delay = 10ms, .reorder = reorder}, 1ms);
    pipe.push(packet(2), 1ms);
    const auto kept = std::vector<Came>{{1, 100ms}, {2, 100ms}};
    const auto swapped = std::vector<Came>{{2, 11ms}, {1, 100ms}};
    EXPECT_EQ(drain(pipe, 1s), reorder ? swapped : kept);
  }
}

TEST(Pipe, JitterIsUniformAndSeeded) {
  const auto delays = [](std::uint64_t seed) {
    Pipe pipe({.delay = 10ms, .jitter = 4ms, .reorder = true}, seed);
    std::vector<double> extra_ms;
    for (int i = 0; i < 4000; ++i) {
      const Time at = i * 20ms;  // so that none meets another
      pipe.push(packet(1, 1), at);
      const auto came = drain(pipe, at + 20ms);
      EXPECT_EQ(came.size(), 1U);
      extra_ms.push_back(std::chrono::duration<double, std::milli>(came[0].at - at).count() - 10);
    }
    return extra_ms;
  };
  auto extra_ms = delays(1);
  EXPECT_EQ(extra_ms, delays(1));
  EXPECT_NE(extra_ms, delays(2));
  std::ranges::sort(extra_ms);
  EXPECT_GE(extra_ms.front(), 0);
  EXPECT_LT(extra_ms.back(), 4);
  for (std::size_t i = 0; i < extra_ms.size(); ++i)  // Kolmogorov-Smirnov, far beyond chance
    EXPECT_NEAR(extra_ms[i] / 4, static_cast<double>(i) / extra_ms.size(), 0.03);
}

TEST(Pipe, HeldJitterIsOneForItsTime) {
  Pipe pipe({.delay = 100ms, .jitter = 50ms, .jitter_hold = 10ms, .reorder = true}, 1);
  const auto delay_at = [&](Time at) {
    pipe.push(packet(1, 1), at);
    return drain(pipe, at + 1s).at(0).at - at;
  };
  const auto first = delay_at(10s);
  EXPECT_EQ(delay_at(10s + 9ms), first);
  EXPECT_NE(delay_at(10s + 10ms), first);
}

// Whatever the settings: in order, none before its time, none at the bottleneck's expense.
RC_GTEST_PROP(Pipe, OrderRateAndDelayHold, ()) {
  const auto reorder = *rc::gen::arbitrary<bool>();
  const auto hold = *rc::gen::element(0, 1, 7);
  Pipe pipe({.delay = 3ms,
             .bits_per_second = 8e6,
             .queue_bytes = kAnyQueue,
             .jitter = 5ms,
             .jitter_hold = Time(1ms) * hold,
             .reorder = reorder},
            *rc::gen::arbitrary<std::uint64_t>());
  const auto gaps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4000));
  Time now{0};
  Time free{0};
  std::vector<Time> earliest, sent;
  std::vector<Came> came;
  const auto take = [&](const std::vector<Came>& more) {
    came.insert(came.end(), more.begin(), more.end());
  };
  RC_PRE(gaps.size() < 200);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    now += std::chrono::microseconds(gaps[i]);
    take(drain(pipe, now));
    pipe.push(packet(static_cast<int>(i)), now);
    free = std::max(free, now) + 1ms;
    earliest.push_back(free + 3ms);
  }
  take(drain(pipe, now + 10s));
  RC_ASSERT(came.size() == gaps.size());
  RC_ASSERT(std::ranges::is_sorted(came, {}, &Came::at));
  for (std::size_t i = 0; i < came.size(); ++i) {
    const auto number = static_cast<std::size_t>(came[i].number);
    if (!reorder) RC_ASSERT(number == i);
    RC_ASSERT(came[i].at >= earliest[number]);
    if (reorder) RC_ASSERT(came[i].at < earliest[number] + 5ms);
  }
}

}  // namespace
}  // namespace hairpin::wan
