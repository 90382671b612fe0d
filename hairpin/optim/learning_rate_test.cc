#include "hairpin/optim/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hairpin::optim {
namespace {

std::vector<double> table(const LearningRate& rate, std::int64_t steps) {
  std::vector<double> values;
  for (std::int64_t step = 0; step < steps; ++step) values.push_back(rate.at(step));
  return values;
}

void expect_table(const LearningRate& rate, const std::vector<double>& want) {
  const auto got = table(rate, static_cast<std::int64_t>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

TEST(LearningRate, WarmsUpThenDecays) {
  const double h = std::sqrt(0.5);  // cos(pi / 4)
  LearningRate rate{.peak = 1.0, .warmup_steps = 4, .total_steps = 8};
  expect_table(rate, {0.25, 0.5, 0.75, 1.0, 1.0, (1 + h) / 2, 0.5, (1 - h) / 2, 0.0});
  rate.decay = Decay::linear;
  expect_table(rate, {0.25, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0});
  rate.decay = Decay::constant;
  expect_table(rate, {0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0});
}

TEST(LearningRate, DecaysToItsMinimum) {
  LearningRate rate{.peak = 1.0, .minimum = 0.2, .total_steps = 4};
  const double h = std::sqrt(0.5);
  expect_table(rate, {1.0, 0.2 + 0.8 * (1 + h) / 2, 0.6, 0.2 + 0.8 * (1 - h) / 2, 0.2, 0.2});
  rate.decay = Decay::linear;
  expect_table(rate, {1.0, 0.8, 0.6, 0.4, 0.2, 0.2});
}

TEST(LearningRate, IsFiniteWhenAllStepsWarmUp) {
  for (const auto decay : {Decay::cosine, Decay::linear, Decay::constant})
    for (const std::int64_t total : {0, 1, 3}) {
      const LearningRate rate{
          .peak = 1.0, .minimum = 0.1, .decay = decay, .warmup_steps = 3, .total_steps = total};
      expect_table(rate, {1.0 / 3, 2.0 / 3, 1.0, decay == Decay::constant ? 1.0 : 0.1});
    }
}

}  // namespace
}  // namespace hairpin::optim
