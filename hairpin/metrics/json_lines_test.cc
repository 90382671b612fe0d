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
