#include "hairpin/train/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/base/random.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/train/loss_weights.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;
using Segments = std::vector<wire::SegmentShape>;

constexpr std::int64_t kSequence = 16, kMicrobatches = 3;

Setup small_setup(Part part, bool packing = true) {
  Setup setup;
  setup.part = part;
  setup.job.data.sequence_length = kSequence;
  setup.job.data.packing = packing;
  setup.job.train.microbatches = kMicrobatches;
  setup.job.train.microbatch_size = 2;
  return setup;
}

samples::Dataset some_samples() {
  Random random(9);
  samples::Dataset dataset;
  for (int i = 0; i < 11; ++i) {
    samples::Sample sample;
    const auto length = 2 + random.below(kSequence - 1);
    for (std::uint64_t t = 0; t < length; ++t) {
      sample.tokens.push_back(static_cast<std::int32_t>(random.below(300)));
      sample.trained.push_back(t > 0 && (t == 1 || random.below(2) == 0));
    }
    dataset.samples.push_back(std::move(sample));
  }
  return dataset;
}

TEST(SampleSteps, EveryTrainedTokenOfAStepWeighsAlikeAndAllOfThemOne) {
  const auto dataset = some_samples();
  for (const bool packing : {true, false}) {
    const auto setup = small_setup(Part::whole, packing);
    SampleSteps source(setup, dataset, nullptr);
    for (std::int64_t index = 0; index < 20; ++index) {
      const Step step = source.next(index).value();
      ASSERT_EQ(step.inputs.size(), static_cast<std::size_t>(kMicrobatches));
      std::int64_t tokens = 0, trained = 0;
      double sum = 0;
      for (const auto& input : step.inputs) {
        ASSERT_EQ(input->weights.size(), input->targets.size());
        ASSERT_EQ(input->tokens.size(), static_cast<std::size_t>(input->layout.tokens));
        EXPECT_LE(input->layout.tokens, setup.max_tokens());
        tokens += input->layout.tokens;
        for (std::size_t t = 0; t < input->weights.size(); ++t) {
          const bool counts = input->targets[t] >= 0;
          trained += counts;
          sum += input->weights[t];
          const auto weight = static_cast<float>(1.0 / static_cast<double>(step.trained_tokens));
          ASSERT_EQ(input->weights[t], counts ? weight : 0.0f);
        }
      }
      EXPECT_EQ(step.tokens, tokens);
      EXPECT_EQ(step.trained_tokens, trained);
      EXPECT_NEAR(sum, 1.0, 1e-6);
    }
  }
}

TEST(SampleSteps, WeighLossesAsTheJobSays) {
  const auto dataset = some_samples();
  for (const auto loss : {config::Loss::per_sample, config::Loss::per_microbatch}) {
    auto setup = small_setup(Part::whole);
    setup.job.train.loss = loss;
    const Step step = SampleSteps(setup, dataset, nullptr).next(0).value();
    GlobalBatch again;
    for (const auto& input : step.inputs)
      again.push_back(std::make_shared<models::MicrobatchInput>(*input));
    EXPECT_EQ(weigh_losses(loss, again), step.trained_tokens);
    for (std::size_t i = 0; i < again.size(); ++i)
      EXPECT_EQ(step.inputs[i]->weights, again[i]->weights);
  }
}

TEST(SampleSteps, AStepWithNothingToTrainOnIsServedWithoutWeight) {
  auto dataset = some_samples();
  for (auto& sample : dataset.samples) sample.trained.assign(sample.trained.size(), false);
  const Step step = SampleSteps(small_setup(Part::whole), dataset, nullptr).next(0).value();
  EXPECT_EQ(step.trained_tokens, 0);
  EXPECT_GT(step.tokens, 0);
  for (const auto& input : step.inputs)
    EXPECT_EQ(input->weights, std::vector<float>(input->targets.size(), 0.0f));
}

class Manifests : public testing::Test {
 protected:
  Result<Step> next(std::int64_t index, const wire::Manifest& manifest) {
    EXPECT_TRUE(pair_.edge->send(manifest));
    return ManifestSteps(setup_, session_).next(index);
  }
  // A step whose last microbatch has these segments.
  Result<Step> with(const Segments& segments) {
    return next(0, {.microbatches = {{{{2, 0}}}, {{{2, 0}}}, {segments}}});
  }

  const train::Setup setup_ = small_setup(Part::cloud);
  link::MemoryPair pair_ = link::make_memory_pair();
  pipeline::Mailbox mailbox_;
  pipeline::LinkSession session_{*pair_.cloud, mailbox_, {.role = wire::Role::cloud}};
};

// The edge's side of a manifest is the cloud's: the same layouts, and nothing else.
TEST_F(Manifests, TellTheCloudTheEdgesLayouts) {
  const auto dataset = some_samples();
  const auto edge_setup = small_setup(Part::edge);
  pipeline::Mailbox mailbox;
  pipeline::LinkSession edge(*pair_.edge, mailbox, {.role = wire::Role::edge});
  SampleSteps samples(edge_setup, dataset, &edge);
  ManifestSteps manifests(setup_, session_);
  for (std::int64_t index = 0; index < 2; ++index) {
    const Step ours = samples.next(index).value();
    const Step theirs = manifests.next(index).value();
    EXPECT_EQ(theirs.tokens, ours.tokens);
    EXPECT_EQ(theirs.trained_tokens, 0);
    ASSERT_EQ(theirs.inputs.size(), ours.inputs.size());
    for (std::size_t i = 0; i < ours.inputs.size(); ++i) {
      const auto &a = ours.inputs[i]->layout, &b = theirs.inputs[i]->layout;
      EXPECT_EQ(a.tokens, b.tokens);
      ASSERT_EQ(a.segments.size(), b.segments.size());
      for (std::size_t j = 0; j < a.segments.size(); ++j) {
        EXPECT_EQ(a.segments[j].begin, b.segments[j].begin);
        EXPECT_EQ(a.segments[j].length, b.segments[j].length);
        EXPECT_EQ(a.segments[j].first_position, b.segments[j].first_position);
      }
      EXPECT_TRUE(theirs.inputs[i]->tokens.empty() && theirs.inputs[i]->targets.empty());
    }
  }
}

TEST_F(Manifests, ThatAreNotTheJobsAreRefused) {
  const Segments least{{1, 0}}, most{{16, 0}, {16, 0}}, late{{1, 15}};
  for (const auto& good : {least, most, late}) EXPECT_TRUE(with(good));
  const std::vector<std::pair<Segments, std::string>> wrong = {
      {{}, "a microbatch of 0 tokens; this job's have 1 to 32"},
      {{{0, 0}}, "positions 0 to 0"},
      {{{5, 0}, {0, 3}}, "positions 3 to 3"},
      {{{17, 0}}, "positions 0 to 17; this job's are below 16"},
      {{{2, 15}}, "positions 15 to 17"},
      {{{0xffffffff, 0}}, "positions 0 to 4294967295"},
      {{{2, 0xffffffff}}, "positions 4294967295 to 4294967297"},
      {{{16, 0}, {16, 0}, {1, 0}}, "a microbatch of 33 tokens"},
  };
  for (const auto& [segments, sentence] : wrong) {
    const auto refused = with(segments);
    ASSERT_FALSE(refused) << sentence;
    EXPECT_EQ(refused.error().kind, ErrorKind::peer);
    EXPECT_THAT(refused.error().message, HasSubstr(sentence));
  }
}

TEST_F(Manifests, OfAnotherStepOrCountAreRefused) {
  const wire::MicrobatchShape shape{{{2, 0}}};
  const std::vector<wire::Manifest> wrong = {
      {.step = 6, .microbatches = {3, shape}},
      {.step = 8, .microbatches = {3, shape}},
      {.step = 7, .microbatches = {2, shape}},
      {.step = 7, .microbatches = {4, shape}},
      {.step = 7},
  };
  for (const auto& manifest : wrong) {
    const auto refused = next(7, manifest);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::peer);
    EXPECT_THAT(refused.error().message, HasSubstr("due is step 7 with 3"));
  }
  EXPECT_TRUE(next(7, {.step = 7, .microbatches = {3, shape}}));
}

}  // namespace
}  // namespace hairpin::train
