// Split training equals unsplit training on the real model: two steps, every loss and every
// exported byte. The model lies where `make test` puts it.
#include <gtest/gtest.h>

#include "hairpin/link/keys.h"
#include "tests/fixture/runs.h"

namespace hairpin {
namespace {

constexpr std::int64_t kVocabulary = 49152;

config::Job smollm2_job(const std::filesystem::path& output) {
  config::Job job = tiny_job(std::filesystem::path(HAIRPIN_BINARY_DIR) / "demo" / "model", output);
  job.data.sequence_length = 128;
  job.data.packing = true;
  job.train.steps = 2;
  job.train.loss_chunk = 64;
  job.optimizer.learning_rate = 3e-4;
  return job;
}

// Compares the two kinds of run; `layers`, schedule and link are the split's.
void expect_equal(std::int64_t microbatches, const std::vector<std::int64_t>& layers,
                  const std::string& schedule, LinkPair pair) {
  const TemporaryDirectory directory;
  const auto dataset = random_dataset(12, 100, kVocabulary, 9);
  config::Job job = smollm2_job(directory / "whole");
  job.train.microbatches = microbatches;
  const Outcome whole = run_whole(job, dataset);
  job.output.directory = directory / "split";
  job.split = config::Split{.layers = layers};
  job.schedule.kind = schedule;
  const Outcome split = run_split(job, dataset, std::move(pair));

  ASSERT_EQ(whole.losses.size(), 2u);
  EXPECT_EQ(whole.tensors.size(), 272u);
  EXPECT_EQ(split.losses, whole.losses);
  EXPECT_EQ(split.norms, whole.norms);
  EXPECT_TRUE(split.tensors == whole.tensors);
}

TEST(SmolLm2, SplitInTwoOverTlsEqualsWhole) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(link::make_keys(directory / "keys"));
  expect_equal(3, {6, 19, 5}, "hairpin-1f1b", tls_pair(directory / "keys"));
}

TEST(SmolLm2, SplitInThreeInMemoryEqualsWhole) {
  expect_equal(2, {3, 11, 14, 2}, "gpipe", memory_pair());
}

}  // namespace
}  // namespace hairpin
