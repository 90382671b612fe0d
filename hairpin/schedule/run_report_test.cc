#include "hairpin/schedule/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/schedule/draw.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/run_files.h"
#include "hairpin/schedule/test_traces.h"

namespace hairpin::schedule {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Times kTimes = {.forward = {10'000, 20'000, 10'000},
                      .backward = {20'000, 40'000, 20'000},
                      .backward_weight = {},
                      .latency = 100'000,
                      .up = {},
                      .down = {}};

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  ASSERT_TRUE(write_file_atomic(file, as_byte_span(text)));
}

// A run of three steps, of which the last two followed times that were agreed on: one microbatch, a
// chain of 120 ms of ops and four crossings, 520 ms a step.
class RunReportTest : public testing::Test {
 protected:
  void SetUp() override {
    GenerateOptions options{.pp = 2, .microbatches = 1};
    Record first{.reason = "what the run began with",
                 .schedule = generate("hairpin-1f1b", options).value()};
    Record second = first;
    second.from_step = 2;
    second.reason = "measured";
    second.times = kTimes;
    const auto costs = to_costs(first.schedule, kTimes).value();
    const auto traces = traces_of(first.schedule, costs, 3, 1e9, 1e6, 0);
    for (const char* site : {"edge", "cloud"}) {
      write(run_ / site / "schedule.jsonl", to_line(first) + "\n" + to_line(second) + "\n");
      write(run_ / site / "trace.json", trace_text(traces[*site == 'e' ? 0 : 1]));
    }
    write(run_ / "edge" / "metrics.jsonl",
          "{\"step\": 1, \"step_seconds\": 0.6, \"rtt_seconds\": 0.2}\n"
          "{\"step\": 2, \"step_seconds\": 0.53}\n{\"step\": 3, \"st");
  }

  std::string error(const ReportOptions& options) {
    const auto report = run_report(options);
    if (report) return "accepted";
    EXPECT_EQ(report.error().kind, ErrorKind::bad_input);
    return report.error().message;
  }

  TemporaryDirectory directory_;
  const std::filesystem::path run_ = directory_ / "run";
};

TEST_F(RunReportTest, Text) {
  EXPECT_EQ(run_report({.run = run_, .step = 2})->text,
            "step 2 of 3 traced: hairpin-1f1b, measured\n"
            "measured   makespan 520 ms, step 530 ms with its update and records\n"
            "simulated  makespan 520 ms, step 520 ms, lower bound 520 ms, at the times agreed on\n"
            "           busy measured  simulated\n"
            "edge                12 %       12 %\n"
            "cloud 1             12 %       12 %\n"
            "link up              0 %        0 %\n"
            "link down            0 %        0 %\n"
            "edge busy 12 %, the edge waits 88 %\n"
            "critical path: latency 77 %, cloud 1 12 %, edge 12 %\n"
            "half the latency would help most: step 520 -> 320 ms (-38 %)\n");
}

TEST_F(RunReportTest, TheLastStepIsTheDefaultAndItsNumberMayBeMissing) {
  const auto report = json::parse(run_report({.run = run_, .json = true})->text);
  EXPECT_EQ(report.at("step"), 3);
  EXPECT_EQ(report.at("reason"), "measured");
  EXPECT_TRUE(report.at("measured_step").is_null());
}

TEST_F(RunReportTest, Json) {
  const auto report = json::parse(run_report({.run = run_, .step = 2, .json = true})->text);
  EXPECT_EQ(report, json::parse(R"json({"step": 2, "steps": 3, "kind": "hairpin-1f1b",
    "reason": "measured", "measured_makespan": 520000.0, "measured_step": 530000.0,
    "simulated_makespan": 520000.0, "simulated_step": 520000.0, "lower_bound": 520000.0,
    "agreed_times": true, "cloud_clock_shift": 0.0,
    "ranks": [{"name": "edge", "busy_measured": 0.11538461538461539,
               "busy_simulated": 0.11538461538461539},
              {"name": "cloud 1", "busy_measured": 0.11538461538461539,
               "busy_simulated": 0.11538461538461539}],
    "link": [{"name": "link up", "busy_measured": 0.0, "busy_simulated": 0.0},
             {"name": "link down", "busy_measured": 0.0, "busy_simulated": 0.0}],
    "critical_path": {"latency": 0.7692307692307693, "cloud 1": 0.11538461538461539,
                      "edge": 0.11538461538461539},
    "busy": "edge busy 12 %, the edge waits 88 %",
    "advice": "half the latency would help most: step 520 -> 320 ms (-38 %)",
    "missing_traces": [],
    "dropped_spans": 0
})json"));
}

// The first step had no times: its own medians, and half of the round trip, are the same.
TEST_F(RunReportTest, WithoutAgreedTimesTheMediansCount) {
  const auto report = json::parse(run_report({.run = run_, .step = 1, .json = true})->text);
  EXPECT_EQ(report.at("agreed_times"), false);
  EXPECT_EQ(report.at("measured_step"), 600000.0);
  EXPECT_EQ(report.at("simulated_makespan"), 520000.0);
  EXPECT_THAT(run_report({.run = run_, .step = 1})->text,
              HasSubstr("at this step's own median times"));
}

TEST_F(RunReportTest, OneSitesTraceMayBeMissing) {
  std::filesystem::remove(run_ / "cloud" / "trace.json");
  const auto text = run_report({.run = run_, .step = 2})->text;
  EXPECT_THAT(text, HasSubstr("cloud 1         no trace       12 %\n"));
  EXPECT_THAT(text, HasSubstr((run_ / "cloud" / "trace.json").string() +
                              ": not there; output.trace = true on that site would have"));
  EXPECT_EQ(run_report({.run = run_ / "edge", .step = 2})->timelines[0].lanes[1].bars.size(), 0u);
  EXPECT_THAT(error({.run = run_, .step = 1}), HasSubstr("stage 1 takes; set output.trace"));
  std::filesystem::remove(run_ / "edge" / "trace.json");
  EXPECT_THAT(error({.run = run_}),
              HasSubstr("a run writes it at its end with output.trace = true"));
}

TEST_F(RunReportTest, ClocksThatDifferAreSaid) {
  const auto schedule = generate("hairpin-1f1b", {.pp = 2, .microbatches = 1}).value();
  const auto costs = to_costs(schedule, kTimes).value();
  write(run_ / "cloud" / "trace.json", trace_text(traces_of(schedule, costs, 3, 1e9, 1e6, 5e6)[1]));
  const auto report = run_report({.run = run_, .step = 2}).value();
  EXPECT_THAT(report.text, HasSubstr("the cloud's times are moved by -5000.000 ms"));
  EXPECT_EQ(report.timelines[0].end, 520'000);
}

TEST_F(RunReportTest, ARunThatIsNone) {
  EXPECT_THAT(error({.run = directory_ / "nothing"}), HasSubstr("no schedule.jsonl in it"));
  EXPECT_THAT(error({.run = run_, .step = 4}), HasSubstr("not step 4"));
  write(run_ / "edge" / "schedule.jsonl", "{}\n");
  EXPECT_THAT(error({.run = run_}), HasSubstr("schedule.jsonl: line 1: schedule.jsonl: from_step"));
  write(run_ / "edge" / "schedule.jsonl", "");
  EXPECT_THAT(error({.run = run_}), HasSubstr("says nothing about step 1"));
}

// Both timelines in each document, on one scale.
TEST_F(RunReportTest, Drawings) {
  const auto timelines = run_report({.run = run_, .step = 2})->timelines;
  ASSERT_EQ(timelines.size(), 2u);
  const auto svg = svg_of(timelines);
  EXPECT_THAT(svg, HasSubstr(">step 2 measured, hairpin-1f1b, 520000 us in all</text>"));
  EXPECT_THAT(
      svg,
      HasSubstr(
          ">step 2 simulated, hairpin-1f1b, 520000 us in all; outlined: the critical path</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>FS1: 0 to 10000</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>FS1: 0 to 10000, slack 0</title>"));
  EXPECT_THAT(html_of(timelines), HasSubstr("<title>step 2 measured, hairpin-1f1b</title>"));
  const std::string forward = "<rect x=\"150.00\" y=\"40.00\" width=\"";
  EXPECT_THAT(svg, HasSubstr(forward + "26.92\""));  // 10 of 520 ms of 1400 pixels
  auto longer = timelines;
  longer[1].end *= 2;
  EXPECT_THAT(svg_of(longer), HasSubstr(forward + "13.46\""));
  EXPECT_THAT(svg_of(longer), HasSubstr("1040000 us in all"));

  const auto events = json::parse(trace_of(timelines)).at("traceEvents");
  std::map<int, int> ops;
  std::vector<std::string> processes;
  for (const auto& event : events) {
    if (event.at("ph") == "X") ++ops[event.at("pid")];
    if (event.at("name") == "process_name") processes.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(ops, (std::map<int, int>{{0, 6}, {1, 6}}));
  EXPECT_EQ(processes, (std::vector<std::string>{"step 2 measured, hairpin-1f1b",
                                                 "step 2 simulated, hairpin-1f1b"}));
}

}  // namespace
}  // namespace hairpin::schedule
