#include "hairpin/train/job_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "hairpin/schedule/fingerprint.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;

struct Site {
  Setup setup;
  hf::Identity model;
};

Site some_site() {
  Site site;
  site.setup.job.split = config::Split{.layers = {2, 26, 2}};
  site.setup.job.data.train = "private/samples.jsonl";
  site.setup.job.cloud.tensor_parallel = 4;
  site.setup.job.cloud.data_parallel = 2;
  site.setup.job.cloud.sequence_parallel = true;
  site.setup.job.optimizer.clip_norm = 1.0;
  site.setup.job.link.codec = "bf16";
  site.setup.job.link.codec_activation_up = "int4";
  return site;
}

link::Contract contract_of(const Site& site) { return job_contract(site.setup, site.model); }

// Golden: both sites' releases must agree on it, and it is what the edge tells of its job.
TEST(JobContract, SaysThisAndNothingElse) {
  const std::string zeros(64, '0');
  const std::vector<std::pair<std::string, std::string>> want = {
      {"model config.json (SHA-256)", zeros},
      {"model weights (SHA-256)", zeros},
      {"split.layers", "[2, 26, 2]"},
      {"edge.tensor_parallel", "1"},
      {"edge.data_parallel", "1"},
      {"edge.sequence_parallel", "false"},
      {"cloud.tensor_parallel", "4"},
      {"cloud.data_parallel", "2"},
      {"cloud.sequence_parallel", "true"},
      {"data.sequence_length", "512"},
      {"train.steps", "0"},
      {"train.microbatches", "1"},
      {"train.microbatch_size", "1"},
      {"train.precision", "fp32"},
      {"train.loss", "per_token"},
      {"train.loss_chunk", "256"},
      {"train.on_nonfinite", "stop"},
      {"train.seed", "1"},
      {"optimizer.kind", "adamw"},
      {"optimizer.learning_rate", "0.0001"},
      {"optimizer.decay", "cosine"},
      {"optimizer.min_learning_rate", "0"},
      {"optimizer.warmup_steps", "0"},
      {"optimizer.beta1", "0.9"},
      {"optimizer.beta2", "0.999"},
      {"optimizer.epsilon", "1e-08"},
      {"optimizer.weight_decay", "0"},
      {"optimizer.momentum", "0"},
      {"optimizer.clip_norm", "1"},
      {"optimizer.norm_type", "2"},
      {"schedule.kind", "hairpin-adaptive"},
      {"schedule.split_backward", "false"},
      {"schedule (first order's fingerprint)",
       fmt::format("{:016x}", schedule::fingerprint(some_site().setup.schedule))},
      {"schedule.adapt", "always"},
      {"schedule.max_in_flight", "none"},
      {"link.codec_activation_up", "int4"},
      {"link.codec_gradient_up", "bf16"},
      {"link.codec_activation_down", "bf16"},
      {"link.codec_gradient_down", "bf16"},
  };
  EXPECT_EQ(contract_of(some_site()).fields, want);
}

TEST(JobContract, ADifferenceInAnyFieldIsNamed) {
  using Change = std::function<void(Site&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"model config.json (SHA-256)", [](Site& s) { s.model.config[31] = std::byte{1}; }},
      {"model weights (SHA-256)", [](Site& s) { s.model.weights[0] = std::byte{1}; }},
      {"split.layers", [](Site& s) { s.setup.job.split->layers = {2, 2, 24, 2}; }},
      {"edge.tensor_parallel", [](Site& s) { ++s.setup.job.edge.tensor_parallel; }},
      {"edge.data_parallel", [](Site& s) { ++s.setup.job.edge.data_parallel; }},
      {"edge.sequence_parallel", [](Site& s) { s.setup.job.edge.sequence_parallel = true; }},
      {"cloud.tensor_parallel", [](Site& s) { ++s.setup.job.cloud.tensor_parallel; }},
      {"cloud.data_parallel", [](Site& s) { ++s.setup.job.cloud.data_parallel; }},
      {"cloud.sequence_parallel", [](Site& s) { s.setup.job.cloud.sequence_parallel = false; }},
      {"data.sequence_length", [](Site& s) { ++s.setup.job.data.sequence_length; }},
      {"train.steps", [](Site& s) { ++s.setup.job.train.steps; }},
      {"train.microbatches", [](Site& s) { ++s.setup.job.train.microbatches; }},
      {"train.microbatch_size", [](Site& s) { ++s.setup.job.train.microbatch_size; }},
      {"train.precision", [](Site& s) { s.setup.job.train.precision = "bf16"; }},
      {"train.loss", [](Site& s) { s.setup.job.train.loss = config::Loss::per_sample; }},
      {"train.loss_chunk", [](Site& s) { ++s.setup.job.train.loss_chunk; }},
      {"train.on_nonfinite",
       [](Site& s) { s.setup.job.train.on_nonfinite = config::OnNonfinite::skip; }},
      {"train.seed", [](Site& s) { ++s.setup.job.train.seed; }},
      {"optimizer.kind", [](Site& s) { s.setup.job.optimizer.kind = "sgd"; }},
      {"optimizer.learning_rate",
       [](Site& s) { s.setup.job.optimizer.learning_rate = std::nextafter(1e-4, 1.0); }},
      {"optimizer.decay", [](Site& s) { s.setup.job.optimizer.decay = "linear"; }},
      {"optimizer.min_learning_rate",
       [](Site& s) { s.setup.job.optimizer.min_learning_rate = 1e-9; }},
      {"optimizer.warmup_steps", [](Site& s) { ++s.setup.job.optimizer.warmup_steps; }},
      {"optimizer.beta1", [](Site& s) { s.setup.job.optimizer.beta1 = 0.8; }},
      {"optimizer.beta2", [](Site& s) { s.setup.job.optimizer.beta2 = 0.9; }},
      {"optimizer.epsilon", [](Site& s) { s.setup.job.optimizer.epsilon = 1e-7; }},
      {"optimizer.weight_decay", [](Site& s) { s.setup.job.optimizer.weight_decay = 0.1; }},
      {"optimizer.momentum", [](Site& s) { s.setup.job.optimizer.momentum = 0.9; }},
      {"optimizer.clip_norm", [](Site& s) { s.setup.job.optimizer.clip_norm.reset(); }},
      {"optimizer.norm_type",
       [](Site& s) { s.setup.job.optimizer.norm_type = config::NormType::infinity; }},
      {"schedule.kind", [](Site& s) { s.setup.job.schedule.kind = "gpipe"; }},
      {"schedule.split_backward", [](Site& s) { s.setup.job.schedule.split_backward = true; }},
      {"schedule (first order's fingerprint)",
       [](Site& s) { s.setup.schedule.ranks.emplace_back(); }},
      {"schedule.adapt", [](Site& s) { s.setup.job.schedule.adapt = false; }},
      {"schedule.max_in_flight", [](Site& s) { s.setup.job.schedule.max_in_flight = 3; }},
      {"link.codec_activation_up", [](Site& s) { s.setup.job.link.codec_activation_up = "int8"; }},
      {"link.codec_gradient_up", [](Site& s) { s.setup.job.link.codec_gradient_up = "int8"; }},
      {"link.codec_activation_down",
       [](Site& s) { s.setup.job.link.codec_activation_down = "int8"; }},
      {"link.codec_gradient_down", [](Site& s) { s.setup.job.link.codec_gradient_down = "int8"; }},
  };
  const auto own = contract_of(some_site());
  ASSERT_EQ(changes.size(), own.fields.size());
  for (const auto& [field, change] : changes) {
    Site other = some_site();
    change(other);
    const auto differs = link::compare_contracts(own, contract_of(other), wire::Role::edge);
    ASSERT_FALSE(differs) << field;
    EXPECT_THAT(differs.error().message, HasSubstr("differ: " + field + " is "));
  }
}

// Only what comes of the keys counts: a codec said four times is the one said once.
TEST(JobContract, OneCodecForAllIsTheSameAsFourAlike) {
  Site all = some_site(), each = some_site();
  all.setup.job.link = {.codec = "int8"};
  each.setup.job.link = {.codec_activation_up = "int8",
                         .codec_gradient_up = "int8",
                         .codec_activation_down = "int8",
                         .codec_gradient_down = "int8"};
  EXPECT_EQ(contract_of(all).digest(), contract_of(each).digest());
}

// A release to come may have codecs that this one doesn't know; nothing else tells of them.
TEST(JobContract, ACodecThatThisReleaseDoesNotKnowIsNamed) {
  auto theirs = contract_of(some_site());
  for (auto& [field, value] : theirs.fields)
    if (field == "link.codec_gradient_down") value = "fp8";
  const auto differs = link::compare_contracts(contract_of(some_site()), theirs, wire::Role::edge);
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().kind, ErrorKind::peer);
  EXPECT_EQ(differs.error().message,
            "the two sites' jobs differ: link.codec_gradient_down is \"bf16\" at the edge and "
            "\"fp8\" at the cloud; make them agree and start both again");
}

// What each site may choose for itself; above all, nothing about samples is told.
TEST(JobContract, WhatIsASitesOwnBusinessIsNotInIt) {
  Site other = some_site();
  auto& job = other.setup.job;
  job.data.train = "other.jsonl";
  job.data.packing = job.data.shuffle = false;
  job.data.on_bad_sample = config::OnBad::skip;
  job.edge.threads = 7;
  job.edge.zero = 1;
  job.cloud.overlap_grad_reduce = job.cloud.overlap_param_gather = false;
  job.output.trace = true;
  job.cloud.keys = "k";
  job.output.directory = "o";
  job.link.address = "cloud:1";
  other.setup.part = Part::cloud;
  EXPECT_EQ(contract_of(other).digest(), contract_of(some_site()).digest());
}

// Frames of every kind that the job allows fit, with 64 KiB for what surrounds the payload.
TEST(JobContract, FramesAreBoundedByTheJob) {
  auto setup = some_site().setup;
  setup.model.architecture.hidden_size = 64;
  EXPECT_EQ(max_frame_bytes(setup), kWeightsChunkBytes + 65536);
  setup.model.architecture.hidden_size = 8192;
  EXPECT_EQ(max_frame_bytes(setup), 512u * 8192 * 4 + 65536);
  setup.job.train.microbatch_size = 8;
  EXPECT_EQ(max_frame_bytes(setup), 8u * 512 * 8192 * 4 + 65536);
  setup.job.train.microbatches = 10000;
  EXPECT_EQ(max_frame_bytes(setup), 10000u * (8 * 512 * 8 + 16) + 65536);
}

}  // namespace
}  // namespace hairpin::train
