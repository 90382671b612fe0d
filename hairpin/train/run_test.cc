#include "hairpin/train/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/tokenizer/tiny_tokenizer.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;

Result<samples::Dataset> load_with_vocabulary(std::int64_t vocab) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(hf::write_tiny_model(directory / "m", {.vocab = vocab}));
  EXPECT_TRUE(tokenizer::write_tiny_tokenizer(directory / "m"));
  std::ofstream(directory / "train.jsonl")
      << R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"
      << "\n";
  config::Job job;
  job.model.path = directory / "m";
  job.data.train = directory / "train.jsonl";
  job.train.steps = 1;
  job.schedule.kind = "1f1b";
  job.output.directory = directory / "out";
  return load_samples(prepare(job, Part::whole).value());
}

TEST(LoadSamples, ATokenizerWithMoreIdsThanTheModelIsRefused) {
  EXPECT_TRUE(load_with_vocabulary(tokenizer::kTinyVocabularySize));
  const auto refused = load_with_vocabulary(tokenizer::kTinyVocabularySize - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(refused.error().message, HasSubstr("280 ids, config.json a vocab_size of 279"));
}

}  // namespace
}  // namespace hairpin::train
