#include "hairpin/link/window.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// A path that delivers so many bytes a second and begins to queue when more is under way than it
// holds; the sender keeps as much under way as the window allows. A step is a millisecond.
struct Path {
  double rate = 25e6;
  microseconds rtt = 100ms;
  bool shows_queue = true;  // in its round trip
  Window window;
  double slow_start = 15000, under_way = 0, most_under_way = 0, delivered_so_far = 0;
  Moment now{};

  double held() const { return rate * std::chrono::duration<double>(rtt).count(); }
  void run(std::chrono::milliseconds time) {
    for (auto end = now + time; now < end; now += 1ms) {
      const auto limit = window.limit();
      // TCP doubles each round trip until the queue holds as much as the path.
      slow_start = std::min(2 * held(), slow_start * (1 + 0.7 / static_cast<double>(rtt / 1ms)));
      const double may = limit ? static_cast<double>(*limit) : slow_start;
      under_way = std::max(under_way, std::min(slow_start, may));
      most_under_way = std::max(most_under_way, under_way);
      const double out = std::min(rate, under_way / std::chrono::duration<double>(rtt).count());
      const double delivered = out * 1e-3;
      delivered_so_far += delivered;
      under_way -= delivered;
      window.see({now, static_cast<std::uint64_t>(delivered_so_far), rtt_now(), rtt});
    }
  }
  microseconds rtt_now() const {
    const auto whole = microseconds(static_cast<std::int64_t>(under_way / rate * 1e6));
    return shows_queue ? std::max(rtt, whole) : rtt;
  }
};

TEST(Window, HoldsThePathAndALittleMore) {
  Path path;
  EXPECT_FALSE(path.window.limit());
  path.run(4s);
  ASSERT_TRUE(path.window.limit());
  EXPECT_NEAR(static_cast<double>(*path.window.limit()), 25e6 * 0.12, 25e6 * 0.12 * 0.02);
}

TEST(Window, FindsTheRateWithoutSeeingAQueue) {
  Path path;
  path.shows_queue = false;
  path.run(4s);
  ASSERT_TRUE(path.window.limit());
  EXPECT_NEAR(static_cast<double>(*path.window.limit()), 25e6 * 0.12, 25e6 * 0.12 * 0.02);
}

// A queue of two fifths of what the path holds, not of as much as TCP alone would make.
TEST(Window, StartUpLeavesTheQueueShort) {
  for (const bool shows_queue : {true, false}) {
    Path path;
    path.shows_queue = shows_queue;
    path.run(4s);
    EXPECT_GE(path.most_under_way, path.held());
    EXPECT_LE(path.most_under_way, path.held() * 1.42);
  }
}

TEST(Window, StartUpIsAsFastAsTcp) {
  Path path;
  const double rates = 25e6 / (15000 / 0.1);
  path.run(std::chrono::milliseconds(static_cast<int>(100 * std::log(rates) / 0.7)));
  EXPECT_GE(path.under_way, path.held() * 0.95);
}

TEST(Window, StartUpEndsAsSoonAsAQueueBuildsUp) {
  Path path, blind;
  blind.shows_queue = false;
  for (auto* each : {&path, &blind}) each->run(950ms);
  EXPECT_NEAR(static_cast<double>(*path.window.limit()), path.held() * 1.2, path.held() * 0.03);
  EXPECT_NEAR(static_cast<double>(*blind.window.limit()), path.held() * 1.4, path.held() * 0.03);
}

TEST(Window, FollowsAPathThatChanges) {
  Path path;
  path.run(4s);
  path.rate = 50e6;
  path.run(4s);
  EXPECT_NEAR(static_cast<double>(*path.window.limit()), 50e6 * 0.12, 50e6 * 0.12 * 0.02);
  path.rate = 5e6;
  path.run(4s);
  EXPECT_NEAR(static_cast<double>(*path.window.limit()), 5e6 * 0.12, 5e6 * 0.12 * 0.02);
}

TEST(Window, WhatIdleTimesBringDoesNotCount) {
  Path path;
  path.run(4s);
  const auto before = path.window.limit();
  path.window.idle();
  path.now += 10s;
  for (int i = 0; i < 100; ++i) {  // one delivered byte a minute
    path.now += 60s;
    path.delivered_so_far += 1;
    path.window.see(
        {path.now, static_cast<std::uint64_t>(path.delivered_so_far), path.rtt, path.rtt});
    path.window.idle();
  }
  EXPECT_EQ(path.window.limit(), before);
}

TEST(Window, ShortPathsAreNotBounded) {
  Path path;
  path.rtt = 4ms;
  path.run(4s);
  EXPECT_FALSE(path.window.limit());
}

TEST(Window, IsNeverTooSmallToBeUseful) {
  Path path;
  path.rate = 1000;
  path.run(20s);
  EXPECT_EQ(path.window.limit(), Window::kLeastBytes);
}

}  // namespace
}  // namespace hairpin::link
