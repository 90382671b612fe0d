#include "hairpin/schedule/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hairpin::schedule {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string refusal(const Result<std::string>& text) {
  return text ? "accepted" : text.error().message;
}

TEST(Show, TextAndJson) {
  EXPECT_EQ(show({.kind = "hairpin-1f1b", .generate = {2, 2}}).value(),
            "edge     FS1 FS2 FE1 BS1 FE2 BS2 BE1 BE2\n"
            "cloud 1  F1 F2 B1 B2\n");
  EXPECT_EQ(show({.kind = "hairpin-1f1b", .generate = {2, 1}, .json = true}).value(),
            "{\"ranks\":[[\"FS1\",\"FE1\",\"BS1\",\"BE1\"],[\"F1\",\"B1\"]]}\n");
}

TEST(Show, EdgeReplicas) {
  EXPECT_EQ(show({.kind = "hairpin-1f1b", .generate = {2, 2, 2, 3}}).value(),
            "edge replica 0    FS1.0 FS2.1 FE1.0 BS1.0 FE2.1 BS2.1 BE1.0 BE2.1\n"
            "edge replica 1    FS1.1 FE1.1 BS1.1 BE1.1\n"
            "edge replica 2    FS2.0 FE2.0 BS2.0 BE2.0\n"
            "cloud 1 domain 0  F1.0 F2.0 B1.0 B2.0\n"
            "cloud 1 domain 1  F1.1 F2.1 B1.1 B2.1\n");
  const auto text = show({.kind = "hairpin-1f1b", .generate = {2, 2, 1, 2}, .json = true}).value();
  EXPECT_EQ(json::parse(text),
            json::parse(R"({"ranks":[["FS1","FE1","BS1","BE1"],["FS2","FE2","BS2","BE2"],
                                     ["F1","F2","B1","B2"]]})"));
}

TEST(Show, LogicalStagesBeforeMerging) {
  EXPECT_EQ(show({.kind = "hairpin-1f1b", .generate = {2, 4}, .logical = true}).value(),
            "head     FS1 FS2 FS3 BE1 FS4 BE2 BE3 BE4\n"
            "cloud 1  F1 F2 B1 F3 B2 F4 B3 B4\n"
            "tail     FE1 BS1 FE2 BS2 FE3 BS3 FE4 BS4\n");
  const auto text =
      show({.kind = "hairpin-1f1b", .generate = {3, 1}, .logical = true, .json = true});
  EXPECT_EQ(json::parse(text.value()),
            json::parse(R"({"ranks":[["FS1","BE1"],["F1","B1"],["F1","B1"],["FE1","BS1"]]})"));
  EXPECT_THAT(refusal(show({.kind = "gpipe", .generate = {2, 4}, .logical = true})),
              HasSubstr("--logical goes with hairpin-1f1b"));
  EXPECT_THAT(refusal(show({.kind = "hairpin-1f1b", .generate = {2, 4, 2}, .logical = true})),
              HasSubstr("--logical shows one domain, got 2"));
  EXPECT_THAT(refusal(show({.kind = "hairpin-1f1b", .generate = {2, 4, 1, 2}, .logical = true})),
              HasSubstr("--logical shows one edge replica, got 2"));
  EXPECT_THAT(refusal(show({.kind = "hairpin-1f1b", .generate = {1, 4}, .logical = true})),
              HasSubstr("pp >= 2"));
}

TEST(SimulateReport, Json) {
  const auto text =
      simulate_report({.kind = "hairpin-1f1b", .generate = {3, 6}, .json = true}).value();
  const json report = json::parse(text);
  EXPECT_EQ(report.at("makespan"), 46);
  EXPECT_EQ(report.at("lower_bound"), 45);
  EXPECT_EQ(report.at("peak_in_flight"), json({5, 3, 2}));
  EXPECT_EQ(report.at("peak_in_flight_by_stage"), json({5, 3, 2, 1}));
  EXPECT_EQ(report.at("busy"), json({36, 36, 36}));
  EXPECT_EQ(text.back(), '\n');
}

TEST(SimulateReport, EdgeReplicas) {
  const json report = json::parse(
      simulate_report({.kind = "hairpin-1f1b", .generate = {2, 3, 3, 2}, .json = true}).value());
  EXPECT_EQ(report.at("domains"), 3);
  EXPECT_EQ(report.at("edges"), 2);
  EXPECT_EQ(report.at("busy"), json({5 * 6, 4 * 6, 3 * 6, 3 * 6, 3 * 6}));
  EXPECT_EQ(report.at("lower_bound"), 5 * 6);
  const auto line = simulate_report({.kind = "1f1b", .generate = {2, 3}, .json = true}).value();
  EXPECT_EQ(json::parse(line).at("edges"), 0);
}

TEST(SimulateReport, Text) {
  EXPECT_EQ(
      simulate_report({.kind = "hairpin-1f1b", .generate = {2, 64}, .times = {.latency = 1.5}})
          .value(),
      "hairpin-1f1b: makespan 396, step 396, lower bound 390, mean bubble 3.0 %\n"
      "edge     busy 384, bubble 3.0 %, peak in flight 4\n"
      "cloud 1  busy 384, bubble 3.0 %, peak in flight 2\n"
      "edge busy 97 %, the edge waits 3 %\n"
      "critical path: cloud 1 95 %, edge 2 %, latency 2 %\n"
      "half the latency would help most: step 396 -> 391.5 (-1 %)\n");
}

TEST(SimulateReport, AdaptiveUnderATightCapSaysWhatDepthIsMissing) {
  SimulateOptions options{
      .kind = "hairpin-adaptive", .generate = {2, 64}, .times = {.latency = 8}, .json = true};
  EXPECT_TRUE(json::parse(simulate_report(options).value()).at("depth_needed").is_null());
  options.generate.in_flight_cap = {4};
  EXPECT_EQ(json::parse(simulate_report(options).value()).at("depth_needed"), json({10, 10, 1}));
  options.json = false;
  EXPECT_THAT(simulate_report(options).value(),
              HasSubstr("\n1.03 x bound needs 10 10 1 in flight by stage\n"));
}

TEST(SimulateReport, SplitBackwards) {
  SimulateOptions options{.kind = "zb-h1", .generate = {4, 8}, .json = true};
  json report = json::parse(simulate_report(options).value());
  EXPECT_EQ(report.at("makespan"), 6 * 8 + 2 * 3);
  EXPECT_EQ(report.at("pending_weights_by_stage")[0], 0);
  options.kind = "hairpin-1f1b", options.generate.split_backward = true;
  options.json = false;
  EXPECT_THAT(simulate_report(options).value(), HasSubstr("\npending weights by stage: 0 "));
  EXPECT_THAT(show({.kind = "zb-h1", .generate = {2, 2}}).value(),
              "rank 0  F1 F2 B1 B2\n"
              "rank 1  F1 Bi1 F2 Bi2 Bw1 Bw2\n");
  ShowOptions logical{.kind = "hairpin-1f1b", .generate = {2, 2}, .logical = true};
  logical.generate.split_backward = true;
  EXPECT_THAT(refusal(show(logical)), HasSubstr("--logical shows whole backwards"));
}

TEST(SimulateReport, EachTimeGoesToItsOp) {
  // One microbatch passes every op once, so its makespan is the sum of all times and crossings.
  SimulateOptions options{
      .kind = "hairpin-1f1b", .generate = {3, 1}, .times = {.latency = 1e6}, .json = true};
  options.times.fs = 1, options.times.fe = 10, options.times.bs = 100, options.times.be = 1000;
  options.times.f = {1e4}, options.times.b = {1e5};
  const json report = json::parse(simulate_report(options).value());
  EXPECT_EQ(report.at("makespan"), 4e6 + 2e5 + 2e4 + 1111);
  EXPECT_EQ(report.at("busy"), json({1111, 1.1e5, 1.1e5}));
  options.generate.microbatches = 64,
  options.times.be = 0;  // only the head's backward gets cheaper
  EXPECT_EQ(json::parse(simulate_report(options).value()).at("busy")[0], 64 * 111);
}

TEST(SimulateReport, ALineOfRanks) {
  SimulateOptions options{.kind = "1f1b", .generate = {2, 3}, .json = true};
  options.times.f = {1}, options.times.b = {1};
  EXPECT_EQ(json::parse(simulate_report(options).value()).at("makespan"), 8);
  options.times.latency = 1;
  EXPECT_THAT(refusal(simulate_report(options)),
              HasSubstr("--latency and transfers are between edge and cloud"));
  options.times.latency = 0, options.times.bs = 2;
  EXPECT_THAT(refusal(simulate_report(options)), HasSubstr("--bs is a time of an edge"));
  options.times.bs.reset(), options.times.f = {-1};
  EXPECT_THAT(refusal(simulate_report(options)), HasSubstr("not negative"));
  options.kind = "1f1";
  EXPECT_THAT(refusal(simulate_report(options)), HasSubstr("did you mean \"1f1b\"?"));
}

}  // namespace
}  // namespace hairpin::schedule
