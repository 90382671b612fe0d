#include "hairpin/link/memory_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

wire::TensorMessage tensor(std::uint32_t step, std::uint32_t microbatch) {
  return {.step = step, .microbatch = microbatch};
}

TEST(MemoryLink, DelayIsPerDirection) {
  auto [edge, cloud] = make_memory_pair({.delay_up = 30ms, .delay_down = 60ms});
  for (auto [from, to, delay] :
       {std::tuple{edge.get(), cloud.get(), 30ms}, {cloud.get(), edge.get(), 60ms}}) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(from->send(wire::Manifest{}));
    ASSERT_TRUE(to->receive());
    EXPECT_GE(std::chrono::steady_clock::now() - start, delay);
  }
}

TEST(MemoryLink, JitterAloneKeepsTheOrder) {
  auto [edge, cloud] = make_memory_pair({.jitter = 2ms, .seed = 3});
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(edge->send(tensor(0, i)));
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(std::get<wire::TensorMessage>(cloud->receive().value()).microbatch, i);
}

TEST(MemoryLink, ReorderLetsTensorsOvertakeButNothingElse) {
  constexpr std::uint32_t kSteps = 5, kMicrobatches = 40;
  auto [edge, cloud] =
      make_memory_pair({.delay_up = 5ms, .jitter = 20ms, .seed = 7, .reorder = true});
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(edge->send(wire::Manifest{.step = step}));
    for (std::uint32_t i = 0; i < kMicrobatches; ++i) ASSERT_TRUE(edge->send(tensor(step, i)));
  }
  bool overtaken = false;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    ASSERT_EQ(std::get<wire::Manifest>(cloud->receive().value()).step, step);
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < kMicrobatches; ++i) {
      const auto message = std::get<wire::TensorMessage>(cloud->receive().value());
      EXPECT_EQ(message.step, step);
      order.push_back(message.microbatch);
    }
    overtaken = overtaken || !std::ranges::is_sorted(order);
    std::ranges::sort(order);
    for (std::uint32_t i = 0; i < kMicrobatches; ++i) EXPECT_EQ(order[i], i);
  }
  EXPECT_TRUE(overtaken);
}

TEST(MemoryLink, ReorderKeepsMessagesOfOneKeyInOrder) {
  auto [edge, cloud] = make_memory_pair({.jitter = 10ms, .seed = 7, .reorder = true});
  for (std::uint32_t step = 0; step < 30; ++step)
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(edge->send(tensor(step, i)));
  std::map<std::uint32_t, std::uint32_t> next;
  for (int n = 0; n < 90; ++n) {
    const auto message = std::get<wire::TensorMessage>(cloud->receive().value());
    EXPECT_EQ(message.step, next[message.microbatch]++);
  }
}

TEST(MemoryLink, CutAfterSoManyMessagesOfBothDirections) {
  auto [edge, cloud] = make_memory_pair({.cut_after_messages = 3});
  ASSERT_TRUE(edge->send(wire::Manifest{.step = 1}));
  EXPECT_TRUE(cloud->receive());
  ASSERT_TRUE(cloud->send(wire::Manifest{.step = 2}));
  ASSERT_TRUE(edge->receive());
  ASSERT_TRUE(edge->send(wire::Manifest{.step = 3}));
  EXPECT_TRUE(cloud->receive());
  (void)cloud->send(wire::Manifest{.step = 4});
  for (auto* link : {edge.get(), cloud.get()}) {
    const auto message = link->receive();
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().kind, ErrorKind::link_lost);
    EXPECT_NE(message.error().message.find("broke"), std::string::npos);
  }
  EXPECT_FALSE(edge->flush());
}

}  // namespace
}  // namespace hairpin::link
