#include "hairpin/nn/head_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "hairpin/base/check.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

constexpr std::int64_t kTokens = 45, kHidden = 24, kVocab = 331;
constexpr double kEps = 1e-5;

struct Result {
  double loss = 0;
  Tensor dx, dnorm, doutput;
};

class HeadLoss : public testing::Test {
 protected:
  HeadLoss() {
    at::manual_seed(3);
    x_ = at::randn({kTokens, kHidden});
    bucket_[0].value.normal_(1.0, 0.1);
    bucket_[1].value.normal_(0.0, 0.3);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      const bool trained = t % 3 != 1;
      targets_.push_back(trained ? static_cast<std::int32_t>(t * 29 % kVocab) : -1);
      weights_.push_back(0.01f * static_cast<float>(1 + t % 4));  // where there is no target too
    }
  }

  Result run(std::int64_t chunk) {
    bucket_.begin_step();
    const Tensor leaf = x_.clone().requires_grad_();
    const Tensor loss = head_loss(leaf, bucket_[0], kEps, bucket_[1], {targets_, weights_, chunk});
    EXPECT_EQ(loss.scalar_type(), at::kDouble);
    const Tensor dx = torch::autograd::grad({loss}, {leaf})[0];
    bucket_.complete_gradients();
    return {loss.item<double>(), dx, bucket_[0].gradient.clone(), bucket_[1].gradient.clone()};
  }

  Result reference() {
    const Tensor x = x_.to(at::kDouble).requires_grad_();
    const Tensor norm = bucket_[0].value.to(at::kDouble).requires_grad_();
    const Tensor output = bucket_[1].value.to(at::kDouble).requires_grad_();
    const Tensor normed = x * at::rsqrt(x.pow(2).mean(-1, true) + kEps) * norm;
    const Tensor logp = at::log_softmax(at::matmul(normed, output.t()), -1);
    Tensor loss = at::zeros({}, at::kDouble);
    for (std::size_t t = 0; t < targets_.size(); ++t)
      if (targets_[t] >= 0)
        loss = loss - static_cast<double>(weights_[t]) *
                          logp.select(0, static_cast<std::int64_t>(t)).select(0, targets_[t]);
    const auto gradients = torch::autograd::grad({loss}, {x, norm, output});
    return {loss.item<double>(), gradients[0], gradients[1], gradients[2]};
  }

  Bucket bucket_{{{"norm", {kHidden}, {}}, {"output", {kVocab, kHidden}, {}}}};
  Tensor x_;
  std::vector<std::int32_t> targets_;
  std::vector<float> weights_;
};

void expect_close(const Tensor& got, const Tensor& want) {
  EXPECT_LE((got.to(at::kDouble) - want).norm().item<double>(), 2e-6 * want.norm().item<double>());
}

// 30 trained tokens: one chunk, chunks that divide them and chunks that don't.
TEST_F(HeadLoss, EqualsLogSoftmaxForEveryChunk) {
  const Result want = reference();
  for (const std::int64_t chunk : {1, 7, 10, 29, 30, 31, 256}) {
    const Result got = run(chunk);
    EXPECT_NEAR(got.loss, want.loss, 1e-6 * want.loss) << chunk;
    expect_close(got.dx, want.dx);
    expect_close(got.dnorm, want.dnorm);
    expect_close(got.doutput, want.doutput);
  }
}

TEST_F(HeadLoss, TokensWithoutATargetGetNoGradientAndDoNotCount) {
  const Result got = run(8);
  for (std::int64_t t = 1; t < kTokens; t += 3) {
    EXPECT_EQ(got.dx.select(0, t).abs().max().item<float>(), 0.0f) << t;
    x_.select(0, t).fill_(1e4f);
    weights_[static_cast<std::size_t>(t)] = 1e6f;
  }
  const Result changed = run(8);
  EXPECT_EQ(changed.loss, got.loss);
  EXPECT_TRUE(changed.dx.equal(got.dx));
  EXPECT_TRUE(changed.doutput.equal(got.doutput));
}

TEST_F(HeadLoss, WithoutAnyTargetTheLossAndAllGradientsAreZero) {
  targets_.assign(targets_.size(), -1);
  const Result got = run(8);
  EXPECT_EQ(got.loss, 0.0);
  for (const auto& gradient : {got.dx, got.dnorm, got.doutput})
    EXPECT_EQ(gradient.count_nonzero().item<std::int64_t>(), 0);
}

TEST_F(HeadLoss, WithoutGradientsTheLossIsTheSameAndNothingIsSunk) {
  const double loss = run(8).loss;
  bucket_.begin_step();
  const at::NoGradGuard no_grad;
  const Tensor again = head_loss(x_, bucket_[0], kEps, bucket_[1], {targets_, weights_, 8});
  EXPECT_EQ(again.item<double>(), loss);
  EXPECT_FALSE(bucket_[0].has_gradient || bucket_[1].has_gradient);
}

// Beside a chunk's logits nothing is larger than what the call is given anyway.
TEST_F(HeadLoss, TheLogitsOfAllTokensNeverExistAtOnce) {
  run(4);
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  run(4);
  EXPECT_LE(meter.largest().bytes, kVocab * kHidden * 4);  // the test's own copy of a gradient
  EXPECT_GE(meter.largest().bytes, 4 * kVocab * 4);
}

TEST_F(HeadLoss, TwoThreadsAgreeWithOne) {
  set_compute_threads(1);
  const Result one = run(16);
  set_compute_threads(2);
  const Result two = run(16);
  set_compute_threads(1);
  EXPECT_NEAR(two.loss, one.loss, 1e-6 * one.loss);
  expect_close(two.dx, one.dx.to(at::kDouble));
  expect_close(two.doutput, one.doutput.to(at::kDouble));
}

TEST_F(HeadLoss, LogitsAreTheUnnormalisedScores) {
  const Tensor x = x_.to(at::kDouble);
  const Tensor normed =
      x * at::rsqrt(x.pow(2).mean(-1, true) + kEps) * bucket_[0].value.to(at::kDouble);
  expect_close(head_logits(x_, bucket_[0], kEps, bucket_[1]),
               at::matmul(normed, bucket_[1].value.to(at::kDouble).t()));
}

TEST_F(HeadLoss, WhatDoesNotFitTogetherIsADefect) {
  weights_.pop_back();
  EXPECT_THROW(run(8), BrokenInvariant);
  weights_.push_back(1.0f);
  targets_[0] = kVocab;
  EXPECT_THROW(run(8), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::nn
