#include "hairpin/train/loss_weights.h"

#include <gtest/gtest.h>

#include <string>

#include "hairpin/base/random.h"

namespace hairpin::train {
namespace {

using config::Loss;
using Samples = std::vector<std::string>;  // of a microbatch; "-" a token, "x" a trained one

GlobalBatch batch_of(const std::vector<Samples>& microbatches) {
  GlobalBatch batch;
  for (const auto& samples : microbatches) {
    auto& input = *batch.emplace_back(std::make_shared<models::MicrobatchInput>());
    for (const auto& sample : samples) {
      input.layout.append(static_cast<std::int64_t>(sample.size()));
      for (const char token : sample) input.targets.push_back(token == 'x' ? 0 : -1);
    }
    input.tokens.resize(input.targets.size());
  }
  return batch;
}

using Weights = std::vector<std::vector<float>>;  // by microbatch and token

Weights weights_of(Loss loss, const std::vector<Samples>& microbatches, std::int64_t trained) {
  const auto batch = batch_of(microbatches);
  for (const auto& input : batch) input->weights = {7.0f};  // what another step left
  EXPECT_EQ(weigh_losses(loss, batch), trained);
  Weights weights;
  for (const auto& input : batch) weights.push_back(input->weights);
  return weights;
}

// Five trained tokens in three samples of two microbatches; one sample more is masked.
const std::vector<Samples> kBatch = {{"-x", "x-xx"}, {"--", "-x-"}};

TEST(LossWeights, PerToken) {
  const float w = 1.0f / 5;
  EXPECT_EQ(weights_of(Loss::per_token, kBatch, 5), (Weights{{0, w, w, 0, w, w}, {0, 0, 0, w, 0}}));
}

TEST(LossWeights, PerSample) {
  const float w = 1.0f / 3, third = 1.0f / 9;
  EXPECT_EQ(weights_of(Loss::per_sample, kBatch, 5),
            (Weights{{0, w, third, 0, third, third}, {0, 0, 0, w, 0}}));
}

TEST(LossWeights, PerMicrobatch) {
  const float w = 1.0f / 8;
  EXPECT_EQ(weights_of(Loss::per_microbatch, kBatch, 5),
            (Weights{{0, w, w, 0, w, w}, {0, 0, 0, 0.5f, 0}}));
}

TEST(LossWeights, AMaskedMicrobatchChangesNoOthersWeights) {
  for (const auto loss : {Loss::per_token, Loss::per_sample, Loss::per_microbatch}) {
    auto weights = weights_of(loss, kBatch, 5);
    weights.insert(weights.begin(), std::vector<float>(4, 0.0f));
    EXPECT_EQ(weights_of(loss, {{"-", "---"}, kBatch[0], kBatch[1]}, 5), weights);
  }
}

TEST(LossWeights, AMaskedStepHasWeightsOfZero) {
  for (const auto loss : {Loss::per_token, Loss::per_sample, Loss::per_microbatch})
    EXPECT_EQ(weights_of(loss, {{"--", "-"}, {"-"}}, 0), (Weights{{0, 0, 0}, {0}}));
}

struct Mean {
  double sum = 0;
  std::int64_t count = 0;
  void add(double value) { sum += value, ++count; }
  void add(const Mean& part) {
    if (part.count > 0) add(part.sum / static_cast<double>(part.count));
  }
  double value() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

// The weighted sum of made-up losses is the mean, the mean of the samples' means, or that of the
// microbatches' means.
TEST(LossWeights, TheWeightedSumIsTheMeanThatWasAskedFor) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Samples> microbatches(1 + random.below(4));
    for (auto& samples : microbatches) {
      samples.resize(1 + random.below(4));
      for (auto& sample : samples) {
        const auto often = random.below(4);  // 0: masked
        sample.resize(1 + random.below(9));
        for (char& token : sample) token = random.below(4) < often ? 'x' : '-';
      }
    }
    Mean tokens, sample_means, microbatch_means;
    std::vector<std::vector<double>> losses;
    for (const auto& samples : microbatches) {
      Mean microbatch;
      auto& row = losses.emplace_back();
      for (const auto& text : samples) {
        Mean sample;
        for (const char token : text) {
          row.push_back(static_cast<double>(random.below(1000)) / 100);
          if (token != 'x') continue;
          for (Mean* mean : {&tokens, &microbatch, &sample}) mean->add(row.back());
        }
        sample_means.add(sample);
      }
      microbatch_means.add(microbatch);
    }
    const auto weighted = [&](Loss loss) {
      const auto weights = weights_of(loss, microbatches, tokens.count);
      double sum = 0;
      for (std::size_t m = 0; m < losses.size(); ++m)
        for (std::size_t t = 0; t < losses[m].size(); ++t) sum += weights[m][t] * losses[m][t];
      return sum;
    };
    EXPECT_NEAR(weighted(Loss::per_token), tokens.value(), 1e-5);
    EXPECT_NEAR(weighted(Loss::per_sample), sample_means.value(), 1e-5);
    EXPECT_NEAR(weighted(Loss::per_microbatch), microbatch_means.value(), 1e-5);
  }
}

}  // namespace
}  // namespace hairpin::train
