// The optimizers against their formulas, element by element in fp64.
#include "hairpin/optim/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/optim/optimizer_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::optim {
namespace {

using Kind = OptimizerOptions::Kind;

constexpr std::int64_t kRows = 13, kColumns = 7;

struct Element {
  double p = 0, m = 0, v = 0;
};

void adamw_step(Element& e, double g, int t, double lr, double decay, const OptimizerOptions& o) {
  e.p *= 1.0 - lr * decay;
  e.m = o.beta1 * e.m + (1.0 - o.beta1) * g;
  e.v = o.beta2 * e.v + (1.0 - o.beta2) * g * g;
  const double m = e.m / (1.0 - std::pow(o.beta1, t)), v = e.v / (1.0 - std::pow(o.beta2, t));
  e.p -= lr * m / (std::sqrt(v) + o.epsilon);
}

void sgd_step(Element& e, double g, double lr, double decay, const OptimizerOptions& o) {
  g += decay * e.p;
  e.m = o.momentum * e.m + g;
  e.p -= lr * e.m;
}

class Optimizers : public testing::TestWithParam<OptimizerOptions> {};

TEST_P(Optimizers, FollowTheirFormulaOverSteps) {
  const OptimizerOptions options = GetParam();
  at::manual_seed(5);
  nn::Bucket bucket({{"matrix", {kRows, kColumns}, {}}, {"norm", {kColumns}, {}}});
  Optimizer optimizer(whole_ranges({&bucket}), options);
  std::vector<std::vector<Element>> expected;
  for (auto& parameter : bucket.parameters()) {
    parameter.value.normal_();
    auto& elements = expected.emplace_back();
    for (const float value : fp32_span(parameter.value)) elements.push_back({.p = value});
  }
  for (int t = 1; t <= 6; ++t) {
    const double lr = 0.01 / t, scale = t == 3 ? 0.25 : 1.0;
    for (std::size_t i = 0; i < 2; ++i) {
      auto& parameter = bucket[i];
      parameter.gradient.normal_();
      const double decay = i == 0 ? options.weight_decay : 0.0;  // matrices only
      for (std::size_t j = 0; j < expected[i].size(); ++j) {
        const double g = scale * fp32_span(parameter.gradient)[j];
        if (options.kind == Kind::adamw) {
          adamw_step(expected[i][j], g, t, lr, decay, options);
        } else {
          sgd_step(expected[i][j], g, lr, decay, options);
        }
      }
    }
    optimizer.step(lr, scale);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < expected[i].size(); ++j)
        ASSERT_NEAR(fp32_span(bucket[i].value)[j], expected[i][j].p, 2e-6) << t << ", " << j;
  }
  EXPECT_EQ(bucket.values().narrow(0, kRows * kColumns, 5).abs().max().item<float>(), 0.0f);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Optimizers,
    testing::Values(OptimizerOptions{}, OptimizerOptions{.weight_decay = 0.1},
                    OptimizerOptions{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
                    OptimizerOptions{.kind = Kind::sgd},
                    OptimizerOptions{.kind = Kind::sgd, .weight_decay = 0.1},
                    OptimizerOptions{.kind = Kind::sgd, .momentum = 0.9, .weight_decay = 0.1}));

// Gradients of 1e-30 underflow when squared, and nothing may be divided by zero then.
TEST(Optimizer, AdamWStaysFiniteForVanishingGradients) {
  nn::Bucket bucket({{"w", {4, 4}, {}}});
  Optimizer optimizer(whole_ranges({&bucket}), {});
  for (const float gradient : {0.0f, 1e-30f, 1e-38f}) {
    bucket[0].gradient.fill_(gradient);
    optimizer.step(0.1, 1.0);
    EXPECT_TRUE(at::isfinite(bucket.values()).all().item<bool>());
  }
}

// Cutting the work between threads, or a model between ranks, must not change a bit.
TEST(OptimizerKernels, AnElementHasTheSameBitsInEveryRange) {
  at::manual_seed(6);
  constexpr std::int64_t n = 1000;
  const Tensor start = at::randn({4, n}), gradient = at::randn({n});
  const auto all = [&](std::int64_t piece) {
    const Tensor state = start.clone();
    state.select(0, 2).abs_();  // a second moment
    float* p = state.data_ptr<float>();
    const float* g = gradient.data_ptr<float>();
    for (std::int64_t i = 0; i < n; i += piece) {
      const auto count = std::min(piece, n - i);
      adamw(p + i, p + n + i, p + 2 * n + i, g + i, count,
            {0.7f, 0.999f, 0.1f, 0.99f, 0.01f, 0.02f, 0.3f, 1e-8f});
      sgd(p + 3 * n + i, p + n + i, g + i, count, {0.7f, 0.1f, 0.9f, 0.01f});
      sgd(p + 3 * n + i, nullptr, g + i, count, {0.7f, 0.1f, 0.9f, 0.01f});
    }
    return state;
  };
  const Tensor expected = all(n);
  for (const std::int64_t piece : {1, 7, 16, 17, 600})
    EXPECT_TRUE(all(piece).equal(expected)) << piece;
}

TEST(Optimizer, TwoThreadsGiveTheSameBits) {
  const auto trained = [](int threads) {
    set_compute_threads(threads);
    at::manual_seed(7);
    nn::Bucket bucket({{"w", {300, 1001}, {}}});  // several grains of work
    bucket[0].gradient.normal_();
    Optimizer optimizer(whole_ranges({&bucket}), {.weight_decay = 0.1});
    optimizer.step(0.1, 0.5);
    set_compute_threads(1);
    return bucket.values();
  };
  EXPECT_TRUE(trained(2).equal(trained(1)));
}

// Elements of three parameters, cut inside the matrix and at neither parameter's border.
class OwnedRanges : public testing::TestWithParam<OptimizerOptions> {
 protected:
  const std::vector<nn::ParameterSpec> kSpecs{
      {"matrix", {kRows, kColumns}, {}}, {"norm", {kColumns}, {}}, {"last", {3, 5}, {}}};
  static constexpr std::int64_t kTotal = 96 + 16 + 16;

  // Values after three steps of one optimizer for each range [cuts[i], cuts[i + 1]).
  Tensor trained(const std::vector<std::int64_t>& cuts) const {
    nn::Bucket bucket(kSpecs);
    at::manual_seed(9);
    for (auto& parameter : bucket.parameters()) parameter.value.normal_();
    std::vector<Optimizer> optimizers;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const OwnedRange owned{&bucket, {cuts[i], cuts[i + 1] - cuts[i]}};
      optimizers.emplace_back(std::vector{owned}, GetParam());
    }
    for (int step = 0; step < 3; ++step) {
      for (auto& parameter : bucket.parameters()) parameter.gradient.normal_();
      for (auto& optimizer : optimizers) optimizer.step(0.01, 0.5);
    }
    return bucket.values();
  }
};

TEST_P(OwnedRanges, GiveTheBitsOfTheWhole) {
  const Tensor whole = trained({0, kTotal});
  for (const std::vector<std::int64_t>& cuts :
       {std::vector<std::int64_t>{0, 64, kTotal}, {0, 48, 96, kTotal}, {0, 0, 1, 92, 99, kTotal}})
    EXPECT_TRUE(trained(cuts).equal(whole)) << cuts[1];
  EXPECT_FALSE(trained({0, 64}).equal(whole));
  EXPECT_TRUE(trained({16, 32}).narrow(0, 32, 96).equal(trained({0}).narrow(0, 32, 96)));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OwnedRanges,
    testing::Values(OptimizerOptions{.weight_decay = 0.1},
                    OptimizerOptions{.kind = Kind::sgd, .weight_decay = 0.1},
                    OptimizerOptions{.kind = Kind::sgd, .momentum = 0.9, .weight_decay = 0.1}));

TEST(Optimizer, ARangeOutsideTheBucketIsADefect) {
  nn::Bucket bucket({{"w", {4, 4}, {}}});
  for (const mesh::Range range : {mesh::Range{-1, 4}, {0, 17}, {16, 1}, {4, -1}})
    EXPECT_THROW(Optimizer({{&bucket, range}}, {}), BrokenInvariant) << range.begin;
}

TEST(Optimizer, MomentsAreCountedAsTheOptimizers) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  nn::Bucket bucket({{"matrix", {2, 8}, {}}});
  const Optimizer adamw(whole_ranges({&bucket}), {.kind = Kind::adamw});
  EXPECT_EQ(meter.current(), (MemoryBytes{{64, 64, 128, 0, 0}}));
  const Optimizer momentum(whole_ranges({&bucket}), {.kind = Kind::sgd, .momentum = 0.9});
  const Optimizer plain(whole_ranges({&bucket}), {.kind = Kind::sgd});
  EXPECT_EQ(meter.current(), (MemoryBytes{{64, 64, 192, 0, 0}}));
  const Optimizer share({{&bucket, {0, 4}}}, {.kind = Kind::adamw});
  EXPECT_EQ(meter.current(), (MemoryBytes{{64, 64, 224, 0, 0}}));
}

}  // namespace
}  // namespace hairpin::optim
