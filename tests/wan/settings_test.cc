#include "tests/wan/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hairpin::wan {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Settings, BothDirectionsOrOne) {
  Settings settings;
  ASSERT_TRUE(set(settings, "delay-ms", "2.5"));
  ASSERT_TRUE(set(settings, "down-delay-ms", "4"));
  ASSERT_TRUE(set(settings, "up-loss-pct", "1"));
  ASSERT_TRUE(set(settings, "rate-mbit", "200"));
  ASSERT_TRUE(set(settings, "mtu", "1500"));
  const auto path = path_settings(settings);
  EXPECT_EQ(path.up.delay, 2500us);
  EXPECT_EQ(path.down.delay, 4ms);
  EXPECT_EQ(path.up.loss, 0.01);
  EXPECT_EQ(path.down.loss, 0);
  EXPECT_EQ(path.up.bits_per_second, 200e6);
  EXPECT_EQ(path.down.bits_per_second, 200e6);
}

TEST(Settings, JitterIsOfTheDelayOrInMilliseconds) {
  Settings settings;
  ASSERT_TRUE(set(settings, "delay-ms", "50"));
  ASSERT_TRUE(set(settings, "jitter-pct", "20"));
  ASSERT_TRUE(set(settings, "down-jitter-ms", "3"));
  ASSERT_TRUE(set(settings, "jitter-hold-ms", "0"));
  const auto path = path_settings(settings);
  EXPECT_EQ(path.up.jitter, 10ms);
  EXPECT_EQ(path.down.jitter, 13ms);
  EXPECT_EQ(path.up.jitter_hold, 0ms);
  EXPECT_FALSE(path.up.reorder);
}

TEST(Settings, AQueueIsABandwidthDelayProduct) {
  EXPECT_EQ(default_queue_bytes(200, 100, 9000), 2'500'000U);
  EXPECT_EQ(default_queue_bytes(1000, 0, 9000), 1'250'000U);  // 10 ms
  EXPECT_EQ(default_queue_bytes(1, 10, 9000), 64U * 9000);
  Settings settings;
  ASSERT_TRUE(set(settings, "rate-mbit", "200"));
  ASSERT_TRUE(set(settings, "up-delay-ms", "60"));
  ASSERT_TRUE(set(settings, "down-delay-ms", "40"));
  ASSERT_TRUE(set(settings, "down-queue-kb", "12"));
  EXPECT_EQ(path_settings(settings).up.queue_bytes, 2'500'000U);
  EXPECT_EQ(path_settings(settings).down.queue_bytes, 12'000U);
}

TEST(Settings, WhatIsWrongChangesNothing) {
  const struct {
    const char *name, *value, *words;
  } cases[] = {
      {"delay", "1", "there is no 'delay'"},
      {"sideways-delay-ms", "1", "there is no 'sideways-delay-ms'"},
      {"up-mtu", "1500", "there is no 'up-mtu'"},
      {"delay-ms", "", "delay-ms is ''; give a number from 0 to 60000"},
      {"delay-ms", "5ms", "delay-ms is '5ms'"},
      {"delay-ms", "-1", "from 0 to 60000"},
      {"up-loss-pct", "101", "up-loss-pct is '101'; give a number from 0 to 100"},
      {"rate-mbit", "nan", "rate-mbit is 'nan'"},
      {"rate-mbit", "inf", "rate-mbit is 'inf'"},
      {"mtu", "100", "from 576 to 65000"},
  };
  for (const auto& [name, value, words] : cases) {
    Settings settings;
    const auto done = set(settings, name, value);
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(done.error().message, HasSubstr(words));
    EXPECT_EQ(settings.up.delay_ms + settings.up.loss_pct + settings.up.rate_mbit, 0);
    EXPECT_EQ(settings.mtu, 9000);
  }
}

TEST(Settings, SomeAreForTheStartOnly) {
  EXPECT_TRUE(for_start_only("mtu"));
  EXPECT_TRUE(for_start_only("seed"));
  EXPECT_FALSE(for_start_only("delay-ms"));
}

TEST(Settings, AllAreListed) {
  for (const auto* name : {"delay-ms", "rate-mbit", "loss-pct", "jitter-ms", "jitter-pct",
                           "jitter-hold-ms", "queue-kb", "reorder", "mtu", "seed"})
    EXPECT_THAT(names_and_meanings(), HasSubstr(name));
}

}  // namespace
}  // namespace hairpin::wan
