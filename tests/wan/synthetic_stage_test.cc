#include "tests/wan/synthetic_stage.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "hairpin/base/check.h"

namespace hairpin::wan {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kTokens = 3, kHidden = 5;

std::shared_ptr<const models::MicrobatchInput> input() {
  auto made = std::make_shared<models::MicrobatchInput>();
  made->layout.append(kTokens);
  return made;
}

Tensor tensor(double value) { return at::full({kTokens, kHidden}, value, at::kFloat); }

SyntheticStage stage(int index) {
  return SyntheticStage({.stage = index, .num_stages = 4, .hidden = kHidden});
}

TEST(SyntheticStage, ValuesSayWhichMicrobatchItIsAndHowFarItHasCome) {
  auto head = stage(0), first = stage(1), second = stage(2), tail = stage(3);
  const Tensor h = head.forward(6, {}, input());
  EXPECT_TRUE(h.equal(tensor(7)));
  const Tensor x = second.forward(6, first.forward(6, h, input()), input());
  EXPECT_TRUE(x.equal(tensor(28)));
  const Tensor loss = tail.forward(6, x, input());
  EXPECT_EQ(loss.item<double>(), synthetic_loss(6, 4));
  EXPECT_EQ(synthetic_loss(6, 4), 56);

  const Tensor dx = tail.backward(6, {}, true);
  EXPECT_TRUE(dx.equal(tensor(-7)));
  const Tensor dh = first.backward(6, second.backward(6, dx, true), true);
  EXPECT_TRUE(dh.equal(tensor(-28)));
  EXPECT_FALSE(head.backward(6, dh, true).defined());
}

TEST(SyntheticStage, AnOpTakesAtLeastItsTime) {
  SyntheticStage tail({.stage = 1,
                       .num_stages = 2,
                       .hidden = kHidden,
                       .forward = milliseconds(7),
                       .backward = milliseconds(9),
                       .backward_weight = milliseconds(4)});
  const auto took = [](auto op) {
    const auto begin = std::chrono::steady_clock::now();
    op();
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_GE(took([&] { tail.forward(0, tensor(1), input()); }), milliseconds(7));
  EXPECT_GE(took([&] { tail.backward(0, {}, true); }), milliseconds(9));
  tail.forward(0, tensor(1), input());
  EXPECT_GE(took([&] { tail.backward_input(0, {}); }), milliseconds(5));
  EXPECT_GE(took([&] { tail.backward_weight(0, true); }), milliseconds(4));
}

TEST(SyntheticStage, CountsWhatIsInFlightAndPending) {
  auto first = stage(1);
  for (const int key : {0, 1, 2}) first.forward(key, tensor(key + 1), input());
  for (const int key : {0, 1}) first.backward_input(key, tensor(-2 * (key + 1)));
  first.backward_weight(0, false);
  first.forward(3, tensor(4), input());
  EXPECT_EQ(first.peak_in_flight(), 3u);
  EXPECT_EQ(first.peak_pending_weights(), 2u);
  first.backward_weight(1, false);
  for (const int key : {2, 3}) first.backward_input(key, tensor(-2 * (key + 1)));
  EXPECT_THROW(first.backward_weight(3, false), BrokenInvariant);
  first.backward_weight(2, false);
  first.backward_weight(3, true);
  EXPECT_EQ(first.peak_in_flight(), 3u);
  EXPECT_EQ(first.peak_pending_weights(), 2u);
}

TEST(SyntheticStage, RefusesWhatNoScheduleMayDo) {
  auto first = stage(1);
  EXPECT_THROW(first.forward(0, tensor(2), input()), BrokenInvariant);  // microbatch 1's
  EXPECT_THROW(first.forward(0, {}, input()), BrokenInvariant);
  EXPECT_THROW(first.forward(0, at::full({kTokens + 1, kHidden}, 1.0, at::kFloat), input()),
               BrokenInvariant);
  EXPECT_THROW(first.backward(0, tensor(-2), false), BrokenInvariant);
  first.forward(0, tensor(1), input());
  EXPECT_THROW(first.forward(0, tensor(1), input()), BrokenInvariant);
  first.forward(1, tensor(2), input());
  EXPECT_THROW(first.backward(1, tensor(-2), false), BrokenInvariant);  // microbatch 0's
  EXPECT_THROW(first.backward(1, {}, false), BrokenInvariant);
  first.backward(1, tensor(-4), false);
  EXPECT_THROW(first.backward(0, tensor(-2), false), BrokenInvariant);  // not ascending

  auto second = stage(2);
  second.forward(0, tensor(2), input());
  second.forward(1, tensor(4), input());
  EXPECT_THROW(second.backward(0, tensor(-1), true), BrokenInvariant);  // not the last
}

TEST(SyntheticStage, AStepAfterItsLastOpIsANewOne) {
  auto tail = stage(3);
  for (int step = 0; step < 2; ++step)
    for (const int key : {0, 1}) {
      tail.forward(key, tensor(4 * (key + 1)), input());
      tail.backward(key, {}, key == 1);
    }
  EXPECT_EQ(tail.peak_in_flight(), 1u);
}

}  // namespace
}  // namespace hairpin::wan
