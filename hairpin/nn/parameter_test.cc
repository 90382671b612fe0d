// Buckets, tied uses and where gradients go.
#include "hairpin/nn/parameter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hairpin/nn/gradient_sink.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/memory_meter.h"

namespace hairpin::nn {
namespace {

const std::vector<ParameterSpec> kOdd = {
    {"a", {3, 5}, {whole_part("a", {3, 5})}},
    {"b", {1}, {whole_part("b", {1})}},
    {"qkv", {7, 3}, {whole_part("q", {4, 3}), whole_part("k", {1, 3}), whole_part("v", {2, 3})}},
    {"c", {16}, {whole_part("c", {16})}},
    {"bias", {7}, {whole_part("qb", {4}), whole_part("kb", {1}), whole_part("vb", {2})}},
};

bool aligned(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64 == 0;
}

// As left behind by an earlier step, or by whoever had the memory before.
void fill_with_garbage(Parameter& parameter) {
  parameter.gradient.fill_(std::numeric_limits<float>::quiet_NaN());
}

// Elements of a flat tensor that belong to no parameter.
std::vector<float> gaps(Bucket& bucket, const Tensor& flat) {
  std::vector<bool> owned(static_cast<std::size_t>(flat.numel()));
  for (const auto& parameter : bucket.parameters())
    for (std::int64_t i = 0; i < parameter.value.numel(); ++i)
      owned[static_cast<std::size_t>(parameter.value.storage_offset() + i)] = true;
  std::vector<float> rest;
  for (std::size_t i = 0; i < owned.size(); ++i)
    if (!owned[i]) rest.push_back(fp32_span(flat)[i]);
  return rest;
}

TEST(Bucket, EveryParameterStartsOnACacheLineAndGapsAreZero) {
  Bucket bucket(kOdd);
  ASSERT_EQ(bucket.parameters().size(), kOdd.size());
  EXPECT_EQ(bucket.values().numel() % 16, 0);
  EXPECT_EQ(bucket.values().numel(), 16 + 16 + 32 + 16 + 16);
  EXPECT_EQ(bucket.values().abs().max().item<float>(), 0.0f);
  for (auto& parameter : bucket.parameters()) {
    EXPECT_TRUE(aligned(parameter.value)) << parameter.spec.name;
    EXPECT_TRUE(aligned(parameter.gradient)) << parameter.spec.name;
    EXPECT_EQ(parameter.value.storage_offset(), parameter.gradient.storage_offset());
    EXPECT_EQ(parameter.value.sizes(), at::IntArrayRef(parameter.spec.shape));
    fill_with_garbage(parameter);
    parameter.value.fill_(1.0f);
  }
  const std::vector<float> zeros(16 - 15 + 15 + 32 - 21 + 9, 0.0f);
  EXPECT_EQ(gaps(bucket, bucket.values()), zeros);
  EXPECT_EQ(gaps(bucket, bucket.gradients()), zeros);
}

TEST(Bucket, AStepsGradientsAreWholeWhenCompleted) {
  Bucket bucket(kOdd);
  for (auto& parameter : bucket.parameters()) fill_with_garbage(parameter);
  bucket.begin_step();
  sink_row_sum(bucket[3], at::ones({2, 16}));
  bucket.complete_gradients();
  EXPECT_EQ(bucket.gradients().sum().item<float>(), 32.0f);
  for (const auto& parameter : bucket.parameters()) EXPECT_TRUE(parameter.has_gradient);

  bucket.begin_step();
  for (const auto& parameter : bucket.parameters()) EXPECT_FALSE(parameter.has_gradient);
  bucket.complete_gradients();
  EXPECT_EQ(bucket.gradients().abs().max().item<float>(), 0.0f);
}

TEST(Bucket, PartsAreRowsInTheirOrder) {
  Bucket bucket(kOdd);
  for (const std::size_t index : {2, 4}) {
    auto& parameter = bucket[index];
    parameter.value.copy_(at::arange(parameter.value.numel()).view(parameter.spec.shape));
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      parts.push_back(parameter.part(i));
      EXPECT_EQ(parts[i].sizes(), at::IntArrayRef(parameter.spec.parts[i].shape()));
    }
    EXPECT_TRUE(at::cat(parts).equal(parameter.value));
    parts[1].fill_(-1.0f);  // a view, not a copy
    EXPECT_EQ(parameter.value.select(0, 4).max().item<float>(), -1.0f);
  }
}

TEST(Bucket, BuffersAreCountedByTheirUse) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  Bucket bucket(kOdd);
  EXPECT_EQ(meter.current(), (MemoryBytes{{96 * 4, 96 * 4, 0, 0, 0}}));
  const TiedUse use(bucket[0]);
  EXPECT_EQ(meter.current(), (MemoryBytes{{96 * 4, (96 + 3 * 5) * 4, 0, 0, 0}}));
}

TEST(GradientSink, TheFirstAdditionOverwritesAndLaterOnesAdd) {
  Bucket bucket({{"w", {3, 5}, {}}, {"b", {3}, {}}, {"f", {2}, {}}});
  const Tensor dy = at::randn({4, 3}), x = at::randn({4, 5});
  for (int step = 0; step < 2; ++step) {
    for (auto& parameter : bucket.parameters()) fill_with_garbage(parameter);
    bucket.begin_step();
    for (int addition = 1; addition <= 3; ++addition) {
      sink_matmul(bucket[0], dy, x);
      sink_row_sum(bucket[1], dy);
      sink_into(bucket[2], [](float* gradient) { gradient[1] += 1.0f; });
      EXPECT_TRUE(bucket[0].gradient.allclose(at::matmul(dy.t(), x) * addition, 1e-5, 1e-6));
      EXPECT_TRUE(bucket[1].gradient.allclose(dy.sum(0) * addition, 1e-5, 1e-6));
      EXPECT_TRUE(bucket[2].gradient.equal(at::tensor({0.0f, static_cast<float>(addition)})));
    }
  }
}

// 1 + 2^-24 is lost, 2^-24 + 2^-24 + 1 is not.
TEST(GradientSink, RowsAreSummedInTheirOrder) {
  Bucket bucket({{"b", {1}, {}}});
  const float tiny = std::ldexp(1.0f, -24);
  sink_row_sum(bucket[0], at::tensor({1.0f, tiny, tiny}).view({3, 1}));
  EXPECT_EQ(bucket[0].gradient.item<float>(), 1.0f);
  bucket.begin_step();
  sink_row_sum(bucket[0], at::tensor({tiny, tiny, 1.0f}).view({3, 1}));
  EXPECT_EQ(bucket[0].gradient.item<float>(), 1.0f + 2 * tiny);
}

TEST(TiedUse, TheOrderOfTheTwoUsesDoesNotMatter) {
  Bucket bucket({{"table", {4, 3}, {}}});
  TiedUse use(bucket[0]);
  EXPECT_EQ(use.parameter().value.data_ptr(), bucket[0].value.data_ptr());
  EXPECT_NE(use.parameter().gradient.data_ptr(), bucket[0].gradient.data_ptr());
  const Tensor a = at::randn({9, 4}), b = at::randn({9, 3}), c = at::randn({9, 3});
  const auto run = [&](bool own_first, bool own, bool tied) {
    bucket.begin_step();
    use.begin_step();
    fill_with_garbage(bucket[0]);
    fill_with_garbage(use.parameter());
    for (const bool now : {own_first, !own_first}) {
      if (now && own) sink_matmul(bucket[0], a, b);
      if (!now && tied) sink_matmul(use.parameter(), a, c);
    }
    use.fold_gradient();
    bucket.complete_gradients();
    return bucket[0].gradient.clone();
  };
  const Tensor both = run(true, true, true);
  EXPECT_TRUE(run(false, true, true).equal(both));
  EXPECT_TRUE(both.allclose(at::matmul(a.t(), b + c), 1e-5, 1e-5));
  EXPECT_TRUE(run(true, false, true).allclose(at::matmul(a.t(), c), 1e-5, 1e-5));
  EXPECT_TRUE(run(true, true, false).allclose(at::matmul(a.t(), b), 1e-5, 1e-5));
  EXPECT_EQ(run(true, false, false).abs().max().item<float>(), 0.0f);
}

}  // namespace
}  // namespace hairpin::nn
