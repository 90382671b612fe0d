#include "hairpin/link/traffic.h"

#include <gtest/gtest.h>

#include "hairpin/link/endpoint.h"

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

constexpr Moment kStart{};

TEST(TrafficMeter, IdleIsTheTimeWithoutAnyFrame) {
  TrafficMeter meter(kStart);
  EXPECT_EQ(meter.at(kStart + 5ms).idle, 5ms);
  meter.begin(kStart + 10ms);
  meter.begin(kStart + 12ms);
  meter.end(kStart + 20ms);
  EXPECT_EQ(meter.at(kStart + 25ms).idle, 10ms);
  meter.end(kStart + 30ms);
  EXPECT_EQ(meter.at(kStart + 31ms).idle, 11ms);
  meter.begin(kStart + 40ms);
  EXPECT_EQ(meter.at(kStart + 99ms).idle, 20ms);
}

struct Clocked {
  Moment now = kStart;
  Endpoint endpoint{wire::Role::edge, [this] { return now; }};
};

TEST(Endpoint, AccountsForQueueingTransferAndIdle) {
  Clocked clock;
  auto& endpoint = clock.endpoint;
  clock.now += 1ms;
  ASSERT_TRUE(endpoint.send(wire::Manifest{}));
  clock.now += 2ms;
  const auto outgoing = endpoint.next_to_send(wire::Lane::control);
  const auto first_byte = clock.now + 3ms;
  clock.now += 7ms;
  endpoint.written(*outgoing, 50, first_byte);
  clock.now += 10ms;
  const auto sent = endpoint.sent();
  EXPECT_EQ(sent.bytes, 50u);
  EXPECT_EQ(sent.messages, 1u);
  EXPECT_EQ(sent.queueing, 5ms);
  EXPECT_EQ(sent.transfer, 4ms);
  EXPECT_EQ(sent.idle, 11ms);
}

TEST(Endpoint, AccountsForWhatArrives) {
  Clocked clock;
  auto& endpoint = clock.endpoint;
  clock.now += 3ms;
  endpoint.set_arriving(true);
  clock.now += 4ms;
  endpoint.deliver(
      {wire::Manifest{}, {.frame_bytes = 60, .began = clock.now - 4ms, .ended = clock.now}});
  endpoint.set_arriving(false);
  clock.now += 5ms;
  ASSERT_TRUE(endpoint.receive());
  const auto received = endpoint.received();
  EXPECT_EQ(received.bytes, 60u);
  EXPECT_EQ(received.queueing, 5ms);
  EXPECT_EQ(received.transfer, 4ms);
  EXPECT_EQ(received.idle, 8ms);
}

}  // namespace
}  // namespace hairpin::link
