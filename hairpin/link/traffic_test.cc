#include "hairpin/link/traffic.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

struct Seen {
  std::string name;
  FrameTimes times;
};

TEST(Endpoint, TellsWhoWatchesHowEachFrameWent) {
  Clocked clock;
  auto& endpoint = clock.endpoint;
  std::vector<Seen> seen;
  endpoint.watch([&](const wire::Message& message, const FrameTimes& times) {
    seen.push_back({std::string(wire::message_name(message)), times});
  });
  clock.now += 1ms;
  ASSERT_TRUE(endpoint.send(wire::WeightsChunk{.payload = Bytes(5)}));
  clock.now += 2ms;
  const auto outgoing = endpoint.next_to_send(wire::Lane::bulk);
  const auto first_byte = clock.now;
  clock.now += 7ms;
  endpoint.written(*outgoing, 50, first_byte);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].name, "weights-chunk");
  EXPECT_TRUE(seen[0].times.sent);
  EXPECT_EQ(seen[0].times.bytes, 50u);
  EXPECT_EQ(seen[0].times.began, first_byte);
  EXPECT_EQ(seen[0].times.ended, first_byte + 7ms);
  EXPECT_EQ(seen[0].times.queueing, 2ms);

  endpoint.deliver(
      {wire::Manifest{}, {.frame_bytes = 60, .began = clock.now - 4ms, .ended = clock.now}});
  EXPECT_EQ(seen.size(), 1u);  // the program hasn't taken it
  clock.now += 5ms;
  ASSERT_TRUE(endpoint.receive());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].name, "manifest");
  EXPECT_FALSE(seen[1].times.sent);
  EXPECT_EQ(seen[1].times.bytes, 60u);
  EXPECT_EQ(seen[1].times.ended - seen[1].times.began, 4ms);
  EXPECT_EQ(seen[1].times.queueing, 5ms);

  endpoint.queue_heartbeat();
  const auto heartbeat = endpoint.next_to_send(wire::Lane::control);
  endpoint.written(*heartbeat, 30, clock.now);
  EXPECT_EQ(seen.size(), 2u);
  endpoint.watch(nullptr);
  endpoint.deliver({wire::Manifest{}, {.frame_bytes = 60, .began = clock.now, .ended = clock.now}});
  ASSERT_TRUE(endpoint.receive());
  EXPECT_EQ(seen.size(), 2u);
}

}  // namespace
}  // namespace hairpin::link
