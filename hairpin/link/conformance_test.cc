// What every link promises (link.h), held against each twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "hairpin/link/link_test_pairs.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {
namespace {

using wire::Message;

class Conformance : public testing::TestWithParam<PairMaker> {
 protected:
  void SetUp() override {
    pair_ = GetParam().make();
    ASSERT_TRUE(pair_.edge && pair_.cloud);
  }
  Link& edge() { return *pair_.edge; }
  Link& cloud() { return *pair_.cloud; }
  LinkPair pair_;
};

wire::WeightsChunk chunk(std::uint32_t entry, std::size_t size) {
  wire::WeightsChunk m{.entry = entry, .offset = entry, .payload = Bytes(size)};
  for (std::size_t i = 0; i < size; ++i) m.payload[i] = static_cast<std::byte>(i * 31 + entry);
  return m;
}

// A message of that many frame bytes.
wire::WeightsChunk frame_of(std::uint64_t bytes) {
  return chunk(0, bytes - wire::kHeaderBytes - 12);
}

TEST_P(Conformance, OrderIsKeptBothWays) {
  constexpr std::uint32_t kMessages = 200;
  const auto sender = [](Link& link) {
    for (std::uint32_t i = 0; i < kMessages; ++i)
      ASSERT_TRUE(link.send(wire::StepScalars{.step = i}));
  };
  std::jthread up(sender, std::ref(edge())), down(sender, std::ref(cloud()));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (auto* link : {&edge(), &cloud()}) {
      const auto message = link->receive();
      ASSERT_TRUE(message) << message.error().message;
      EXPECT_EQ(std::get<wire::StepScalars>(*message).step, i);
    }
  }
}

TEST_P(Conformance, BigPayloadsArriveWhole) {
  for (auto* link : {&edge(), &cloud()}) link->set_max_frame_bytes(std::uint64_t{16} << 20);
  const auto big = chunk(7, std::size_t{8} << 20);
  ASSERT_TRUE(edge().send(big));
  ASSERT_TRUE(cloud().send(big));
  EXPECT_EQ(std::get<wire::WeightsChunk>(cloud().receive().value()), big);
  EXPECT_EQ(std::get<wire::WeightsChunk>(edge().receive().value()), big);
}

TEST_P(Conformance, AReceiverFarBehindStillGetsEverything) {
  constexpr std::uint32_t kMessages = 24;
  for (std::uint32_t i = 0; i < kMessages; ++i)
    ASSERT_TRUE(edge().send(chunk(i, std::size_t{512} << 10)));
  for (std::uint32_t i = 0; i < kMessages; ++i)
    EXPECT_EQ(std::get<wire::WeightsChunk>(cloud().receive().value()).entry, i);
}

TEST_P(Conformance, ConcurrentSendersKeepEachOnesOrder) {
  constexpr std::uint32_t kThreads = 4, kMessages = 50;
  std::vector<std::jthread> senders;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    senders.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kMessages; ++i)
        ASSERT_TRUE(edge().send(wire::Manifest{.step = t * 1000 + i}));
    });
  std::array<std::uint32_t, kThreads> next{};
  for (std::uint32_t n = 0; n < kThreads * kMessages; ++n) {
    const auto step = std::get<wire::Manifest>(cloud().receive().value()).step;
    EXPECT_EQ(step % 1000, next.at(step / 1000)++);
  }
}

TEST_P(Conformance, TrafficIsCountedAlikeOnBothSides) {
  const auto message = chunk(1, 1000);
  ASSERT_TRUE(edge().send(message));
  ASSERT_TRUE(edge().flush());
  ASSERT_TRUE(cloud().receive());
  EXPECT_GE(edge().sent().messages, 1u);
  EXPECT_GE(edge().sent().bytes, wire::encode(message, 0).size());
  EXPECT_GE(cloud().received().bytes, wire::encode(message, 0).size());
}

TEST_P(Conformance, FlushWaitsForTheTransport) {
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(edge().send(chunk(i, 50000)));
  ASSERT_TRUE(edge().flush());
  EXPECT_GE(edge().sent().messages, 20u);
  EXPECT_TRUE(edge().flush());  // nothing queued: at once
}

TEST_P(Conformance, GoodbyeIsDeliveredAndEndsBothSidesInOrder) {
  ASSERT_TRUE(edge().send(wire::Manifest{.step = 1}));
  ASSERT_TRUE(edge().send(wire::Goodbye{}));
  ASSERT_TRUE(edge().flush());
  EXPECT_TRUE(std::holds_alternative<wire::Manifest>(cloud().receive().value()));
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(cloud().receive().value()));
  EXPECT_TRUE(cloud().send(wire::Goodbye{}));
  EXPECT_TRUE(cloud().flush());
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(edge().receive().value()));
  pair_.edge.reset();
  const auto after = cloud().receive();
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::link_lost);
}

TEST_P(Conformance, GoodbyeIsHeardThoughItsSenderIsDestroyedAtOnce) {
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(edge().send(chunk(i, 100000)));
  ASSERT_TRUE(edge().send(wire::Goodbye{}));
  std::jthread closing([&] { pair_.edge.reset(); });
  for (std::uint32_t i = 0; i < 10; ++i)
    EXPECT_EQ(std::get<wire::WeightsChunk>(cloud().receive().value()).entry, i);
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(cloud().receive().value()));
  closing.join();
  EXPECT_FALSE(cloud().receive());
  // The cloud's own goodbye comes late; that is no failure.
  EXPECT_TRUE(cloud().send(wire::Goodbye{}));
  EXPECT_TRUE(cloud().flush());
}

TEST_P(Conformance, FailWakesThisSideAndTellsTheOther) {
  auto waiting = std::async(std::launch::async, [&] { return edge().receive(); });
  edge().fail({ErrorKind::peer, "the cloud sent a gradient nobody asked for"});
  const auto own = waiting.get();
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().message, "the cloud sent a gradient nobody asked for");
  const auto other = cloud().receive();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::peer);
  EXPECT_EQ(other.error().message, "the edge refused: the cloud sent a gradient nobody asked for");
  for (auto* link : {&edge(), &cloud()}) {
    const auto first = link->receive().error().message;
    EXPECT_EQ(link->receive().error().message, first);
    EXPECT_EQ(link->send(wire::Heartbeat{}).error().message, first);
    EXPECT_EQ(link->flush().error().message, first);
    link->fail({ErrorKind::internal, "too late"});
    EXPECT_EQ(link->receive().error().message, first);
  }
}

TEST_P(Conformance, FailCarriesTheKindToExitWith) {
  cloud().fail({ErrorKind::link_lost, "gone for too long"});
  const auto other = edge().receive();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::link_lost);
}

TEST_P(Conformance, ThePeerIsNotToldWhatAnErrorOfOnesOwnSays) {
  edge().fail({ErrorKind::bad_input, "train.jsonl:3: \"Patient Smith ...\" has no answer"});
  const auto other = cloud().receive();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::peer);
  EXPECT_EQ(other.error().message.find("Smith"), std::string::npos) << other.error().message;
}

TEST_P(Conformance, SentBeforeFailIsStillReceived) {
  ASSERT_TRUE(edge().send(wire::Manifest{.step = 9}));
  ASSERT_TRUE(edge().flush());
  edge().fail({ErrorKind::peer, "no"});
  EXPECT_EQ(std::get<wire::Manifest>(cloud().receive().value()).step, 9u);
  EXPECT_FALSE(cloud().receive());
}

TEST_P(Conformance, ThePeersDeathIsALostLink) {
  auto waiting = std::async(std::launch::async, [&] { return cloud().receive(); });
  pair_.edge.reset();
  const auto other = waiting.get();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::link_lost);
  EXPECT_NE(other.error().message.find("the edge's process ended or the connection broke"),
            std::string::npos)
      << other.error().message;
  EXPECT_EQ(cloud().send(wire::Manifest{}).error().message, other.error().message);
}

TEST_P(Conformance, DestroyingWakesAThreadThatReceives) {
  for (auto* end : {&pair_.edge, &pair_.cloud}) {
    std::promise<void> started;
    auto waiting = std::async(std::launch::async, [&, link = end->get()] {
      started.set_value();
      return link->receive();
    });
    started.get_future().wait();
    // There is no telling from outside that the thread is inside receive(); give it the chance.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    end->reset();
    EXPECT_FALSE(waiting.get());
  }
}

TEST_P(Conformance, TheBoundOnFramesIsOneMebibyteAndCanBeRaised) {
  constexpr std::uint64_t kBound = std::uint64_t{1} << 20;
  ASSERT_TRUE(edge().send(frame_of(kBound)));
  EXPECT_TRUE(cloud().receive());
  cloud().set_max_frame_bytes(2 * kBound);
  ASSERT_TRUE(edge().send(frame_of(2 * kBound)));
  EXPECT_TRUE(cloud().receive());
  ASSERT_TRUE(edge().send(frame_of(2 * kBound + 1)));
  const auto refused = cloud().receive();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
  EXPECT_NE(refused.error().message.find("at most 2097152 bytes"), std::string::npos);
  const auto told = edge().receive();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::peer);
  EXPECT_NE(told.error().message.find("the cloud refused:"), std::string::npos)
      << told.error().message;
}

TEST_P(Conformance, HeartbeatsAreNotDelivered) {
  ASSERT_TRUE(edge().send(wire::Heartbeat{1}));
  ASSERT_TRUE(edge().send(wire::Manifest{.step = 3}));
  EXPECT_TRUE(std::holds_alternative<wire::Manifest>(cloud().receive().value()));
}

// Observers: each frame before it goes out, in order, with its size; one that throws keeps the
// frame from going out and ends the link.
TEST_P(Conformance, ObserversSeeEveryFrameAndMayStopIt) {
  std::mutex mutex;
  std::vector<std::uint32_t> steps;
  auto pair = GetParam().make([&](const Message& message, std::uint64_t bytes) {
    const std::lock_guard lock(mutex);
    if (!std::holds_alternative<wire::Manifest>(message)) return;
    EXPECT_EQ(bytes, wire::encode(message, 0).size());
    steps.push_back(std::get<wire::Manifest>(message).step);
    if (steps.back() == 2) throw std::runtime_error("egress.jsonl: the disk is full");
  });
  ASSERT_TRUE(pair.edge && pair.cloud);
  for (std::uint32_t i = 0; i < 3; ++i) (void)pair.edge->send(wire::Manifest{.step = i});
  EXPECT_TRUE(pair.cloud->receive());
  EXPECT_TRUE(pair.cloud->receive());
  EXPECT_FALSE(pair.cloud->receive());  // frame 2 never left
  const auto own = pair.edge->receive();
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().kind, ErrorKind::internal);
  EXPECT_EQ(own.error().message, "egress.jsonl: the disk is full");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(steps, (std::vector<std::uint32_t>{0, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(Twins, Conformance, testing::ValuesIn(all_pairs()),
                         [](const auto& twin) { return twin.param.name; });

}  // namespace
}  // namespace hairpin::link
