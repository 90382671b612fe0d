#include "hairpin/metrics/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::metrics {
namespace {

using namespace std::chrono_literals;

class TraceTest : public ::testing::Test {
 protected:
  std::string text(const Trace& trace) {
    EXPECT_TRUE(trace.write(path_));
    return read_text_file(path_).value();
  }
  // Of the spans only, in the order of their ends.
  std::vector<nlohmann::json> spans(const Trace& trace) {
    std::vector<nlohmann::json> out;
    const auto file = nlohmann::json::parse(text(trace));
    for (const auto& event : file.at("traceEvents"))
      if (event.at("ph") == "X") out.push_back(event);
    return out;
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "trace.json";
};

TraceClock::time_point at(std::chrono::nanoseconds time) { return TraceClock::time_point(time); }

TEST_F(TraceTest, GoldenFile) {
  Trace trace({.process = 1, .process_name = "cloud", .clock_offset = 1'700'000'000s});
  trace.name_thread(3, "pp 1 dp 0 tp 1");
  trace.add({.name = "F",
             .category = "op",
             .thread = 3,
             .begin = at(1'002'345ns),
             .end = at(1'002'345ns + 45'006'789ns),
             .arguments = {{{"step", 2}, {"microbatch", -1}}}});
  trace.add({.name = "\"all\"", .category = "dp", .thread = 4, .begin = at(5s), .end = at(5s)});
  EXPECT_EQ(text(trace),
            R"({"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "cloud"}},
{"name": "thread_name", "ph": "M", "pid": 1, "tid": 3, "args": {"name": "pp 1 dp 0 tp 1"}},
{"name": "F", "cat": "op", "ph": "X", "ts": 1700000000001002.345, "dur": 45006.789, "pid": 1, "tid": 3, "args": {"step": 2, "microbatch": -1}},
{"name": "\"all\"", "cat": "dp", "ph": "X", "ts": 1700000005000000.000, "dur": 0.000, "pid": 1, "tid": 4, "args": {}}
],
"dropped": 0}
)");
}

TEST_F(TraceTest, SpansLieWhereTheClockSaysAndNest) {
  const auto system_before = std::chrono::system_clock::now().time_since_epoch();
  Trace trace({.process_name = "edge"});
  const auto begin = TraceClock::now();
  {
    TraceSpan outer(&trace, 7, "step", "op");
    outer.argument("step", 5);
    const TraceSpan inner(&trace, 7, "F", "op");
  }
  const std::chrono::duration<double, std::micro> whole = TraceClock::now() - begin;
  const auto found = spans(trace);
  ASSERT_EQ(found.size(), 2u);
  const auto &inner = found[0], &outer = found[1];
  EXPECT_EQ(inner.at("name"), "F");
  EXPECT_EQ(outer.at("name"), "step");
  EXPECT_EQ(outer.at("tid"), 7);
  EXPECT_EQ(outer.at("args"), nlohmann::json({{"step", 5}}));
  // A double of microseconds since 1970 is good to a quarter of one.
  const auto number = [](const nlohmann::json& event, const char* key) {
    return event.at(key).get<double>();
  };
  EXPECT_GE(number(inner, "ts"), number(outer, "ts") - 0.5);
  EXPECT_LE(number(inner, "dur"), number(outer, "dur"));
  EXPECT_LE(number(outer, "dur"), whole.count());
  const std::chrono::duration<double, std::micro> earliest = system_before;
  EXPECT_GE(number(outer, "ts"), earliest.count() - 0.5);
  EXPECT_LE(number(outer, "ts"), earliest.count() + 600e6);
}

TEST_F(TraceTest, WithoutARecorderASpanDoesNothing) {
  TraceSpan span(nullptr, 0, "F", "op");
  for (int i = 0; i < 9; ++i) span.argument("i", i);
}

TEST_F(TraceTest, ThreadsRecordTogether) {
  Trace trace({});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&trace, thread] {
      trace.name_thread(thread, "rank");
      for (int i = 0; i < 500; ++i) {
        TraceSpan span(&trace, thread, "F", "op");
        span.argument("i", i);
      }
    });
  for (auto& thread : threads) thread.join();
  std::set<std::pair<int, int>> seen;
  for (const auto& event : spans(trace))
    seen.insert({event.at("tid").get<int>(), event.at("args").at("i").get<int>()});
  EXPECT_EQ(seen.size(), 2000u);
}

TEST_F(TraceTest, AFullRecorderKeepsTheFirstAndCountsTheRest) {
  Trace trace({.max_events = 2});
  for (const char* name : {"a", "b", "c", "d", "e"}) TraceSpan(&trace, 0, name, "op");
  const auto file = nlohmann::json::parse(text(trace));
  EXPECT_EQ(file.at("dropped"), 3);
  const auto found = spans(trace);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].at("name"), "b");
}

// Larger than what is written at once.
TEST_F(TraceTest, ALargeFileIsWhole) {
  Trace trace({});
  for (int i = 0; i < 20'000; ++i) {
    TraceSpan span(&trace, 0, "F", "op");
    span.argument("i", i);
  }
  const auto found = spans(trace);
  ASSERT_EQ(found.size(), 20'000u);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].at("args").at("i"), i);
}

TEST_F(TraceTest, WhatCannotBeWrittenIsReported) {
  EXPECT_FALSE(Trace({}).write(directory_ / "missing" / "trace.json"));
}

}  // namespace
}  // namespace hairpin::metrics
