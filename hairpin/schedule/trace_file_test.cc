#include "hairpin/schedule/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

// As metrics/trace.h writes it.
const std::string kTrace = R"({"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "edge"}},
{"name": "thread_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "edge rank pp 0, dp 0, tp 0"}},
{"name": "thread_name", "ph": "M", "pid": 0, "tid": 3, "args": {"name": "link sent"}},
{"name": "wait FE1", "cat": "pp", "ph": "X", "ts": 1764461000000000.500, "dur": 3.000, "pid": 0, "tid": 0, "args": {}},
{"name": "FS1", "cat": "op", "ph": "X", "ts": 1764461000000001.250, "dur": 2.500, "pid": 0, "tid": 0, "args": {}},
{"name": "FS1", "cat": "link", "ph": "X", "ts": 1764461000000003.000, "dur": 1.000, "pid": 0, "tid": 3, "args": {"bytes": 99, "queued_us": 2, "step": 4}}
],
"dropped": 7}
)";

TEST(TraceFile, OpsAndTheLink) {
  const auto file = parse_trace(kTrace, "trace.json").value();
  EXPECT_EQ(file.threads,
            (std::map<int, std::string>{{0, "edge rank pp 0, dp 0, tp 0"}, {3, "link sent"}}));
  ASSERT_EQ(file.ops.size(), 1u);
  EXPECT_EQ(file.ops[0].name, "FS1");
  EXPECT_EQ(file.ops[0].thread, 0);
  EXPECT_EQ(file.ops[0].start, 1764461000000001.25);
  EXPECT_EQ(file.ops[0].end - file.ops[0].start, 2.5);
  EXPECT_EQ(file.ops[0].step, 0);
  ASSERT_EQ(file.link.size(), 1u);
  EXPECT_EQ(file.link[0].thread, 3);
  EXPECT_EQ(file.link[0].step, 4);
  EXPECT_EQ(file.dropped, 7);
}

std::string refusal(const std::string& from, const std::string& to) {
  auto text = kTrace;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto file = parse_trace(text.replace(at, from.size(), to), "x/trace.json");
  if (file) return "accepted";
  EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
  return file.error().message;
}

TEST(TraceFile, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("\"dropped\": 7}", "\"dropped\": 7"),
              HasSubstr("x/trace.json: not valid JSON"));
  EXPECT_THAT(refusal("\"traceEvents\"", "\"events\""), HasSubstr("traceEvents is missing"));
  EXPECT_THAT(refusal("\"dur\": 2.500, ", ""), HasSubstr("x/trace.json: an event: dur is missing"));
  EXPECT_THAT(refusal("\"dur\": 2.500", "\"dur\": -1"), HasSubstr("dur is -1"));
  EXPECT_THAT(refusal("\"tid\": 3", "\"tid\": \"a\""), HasSubstr("tid is \"a\""));
  EXPECT_THAT(refusal("\"step\": 4", "\"step\": 0"), HasSubstr("step is 0"));
  EXPECT_THAT(refusal("{\"bytes\"", "{\"a\":[[[[[[[[[[[[1]]]]]]]]]]]],\"bytes\""),
              HasSubstr("nested too deep"));
  EXPECT_THAT(refusal("\"dropped\": 7", "\"dropped\": -7"), HasSubstr("dropped is -7"));
}

}  // namespace
}  // namespace hairpin::schedule
