#include "hairpin/metrics/json_lines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::metrics {
namespace {

StepRecord example() {
  return {.step = 3,
          .loss = 2.5,
          .grad_norm = 0.1,
          .learning_rate = 3e-4,
          .tokens = 1024,
          .trained_tokens = 100,
          .step_seconds = 2.0,
          .tokens_per_second = 512.0,
          .link_bytes_up = 7,
          .link_bytes_down = 8,
          .peak_memory_bytes = 9,
          .bubble = 0.25};
}

class JsonLinesSinkTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "metrics.jsonl";
};

TEST(JsonLinesTest, GoldenLine) {
  EXPECT_EQ(
      to_json(example()),
      R"({"step": 3, "loss": 2.5, "grad_norm": 0.1, "learning_rate": 0.0003, "tokens": 1024, )"
      R"("trained_tokens": 100, "step_seconds": 2, "tokens_per_second": 512, )"
      R"("link_bytes_up": 7, "link_bytes_down": 8, "peak_memory_bytes": 9, "bubble": 0.25})");
}

TEST(JsonLinesTest, GoldenLineOfARunWithParallelRanks) {
  StepRecord record{.step = 1, .tp_bytes = 10, .dp_bytes = 0, .pp_bytes = 30};
  record.tensor_memory = {{"edge pp 0 dp 0 tp 0", 15, 1, 2, 3, 4, 5, 6},
                          {"\"", 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(
      to_json(record),
      R"({"step": 1, "grad_norm": 0, "learning_rate": 0, "tokens": 0, "trained_tokens": 0, )"
      R"("step_seconds": 0, "tokens_per_second": 0, "link_bytes_up": 0, "link_bytes_down": 0, )"
      R"("tp_bytes": 10, "dp_bytes": 0, "pp_bytes": 30, "peak_memory_bytes": 0, "bubble": 0, )"
      R"("tensor_memory": [{"rank": "edge pp 0 dp 0 tp 0", "peak": 15, "weights": 1, )"
      R"("gradients": 2, "optimizer": 3, "activations": 4, "link": 5, "largest": 6}, )"
      R"({"rank": "\"", "peak": 0, "weights": 0, "gradients": 0, "optimizer": 0, )"
      R"("activations": 0, "link": 0, "largest": 0}]})");
}

TEST(JsonLinesTest, GoldenPieceOfASplitRun) {
  auto record = example();
  record.link_up = {0.5, 0.25, 1.5};
  record.link_down = {1, 2, 3};
  record.rtt_seconds = 0.1;
  record.link_up_bytes_per_second = 1e6;
  record.link_down_bytes_per_second = 2e6;
  EXPECT_NE(
      to_json(record).find(
          R"("link_bytes_down": 8, "link_up": {"queueing_seconds": 0.5, "transfer_seconds": 0.25, )"
          R"("idle_seconds": 1.5}, "link_down": {"queueing_seconds": 1, "transfer_seconds": 2, )"
          R"("idle_seconds": 3}, "rtt_seconds": 0.1, "link_up_bytes_per_second": 1000000, )"
          R"("link_down_bytes_per_second": 2000000, "peak_memory_bytes")"),
      std::string::npos)
      << to_json(record);
}

TEST(JsonLinesTest, ASkippedStepSaysWhy) {
  EXPECT_FALSE(nlohmann::json::parse(to_json(example())).contains("skipped"));
  auto record = example();
  record.skipped = Skipped::no_trained_tokens;
  EXPECT_EQ(nlohmann::json::parse(to_json(record)).at("skipped"), "no trained tokens");
  record.skipped = Skipped::not_finite;
  EXPECT_NE(to_json(record).find(R"("trained_tokens": 100, "skipped": "gradient not finite", )"),
            std::string::npos);
}

TEST(JsonLinesTest, LossIsLeftOutWhereUnknown) {
  auto record = example();
  record.loss.reset();
  EXPECT_FALSE(nlohmann::json::parse(to_json(record)).contains("loss"));
}

TEST(JsonLinesTest, WhatJsonCannotSayIsNull) {
  auto record = example();
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.grad_norm = std::numeric_limits<double>::infinity();
  const auto parsed = nlohmann::json::parse(to_json(record));
  EXPECT_TRUE(parsed.at("loss").is_null());
  EXPECT_TRUE(parsed.at("grad_norm").is_null());
}

RC_GTEST_PROP(JsonLinesTest, EveryFiniteLossReadsBackBitForBit, (std::uint64_t bits)) {
  const auto loss = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(loss));
  auto record = example();
  record.loss = loss;
  const auto back = nlohmann::json::parse(to_json(record)).at("loss").get<double>();
  RC_ASSERT(back == loss);
}

TEST_F(JsonLinesSinkTest, EveryLineIsInTheFileBeforeTheNext) {
  auto sink = JsonLinesSink::create(path_).value();
  ASSERT_TRUE(sink->write(example()));
  EXPECT_EQ(read_text_file(path_).value(), to_json(example()) + "\n");
  ASSERT_TRUE(sink->write(example()));
  ASSERT_TRUE(sink->finish());
  EXPECT_EQ(read_text_file(path_).value(), to_json(example()) + "\n" + to_json(example()) + "\n");
}

TEST_F(JsonLinesSinkTest, AFileThatExistsIsNotTouched) {
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("x")));
  const auto sink = JsonLinesSink::create(path_);
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(read_text_file(path_).value(), "x");
}

}  // namespace
}  // namespace hairpin::metrics
