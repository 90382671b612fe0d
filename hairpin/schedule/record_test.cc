#include "hairpin/schedule/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

Record sample() {
  Record record{.from_step = 3, .reason = "first measured"};
  record.times = Times{.forward = {10, 20, 30},
                       .backward = {40, 50, 60},
                       .backward_weight = {20, 25, 30},
                       .latency = 7,
                       .up = {1, 2},
                       .down = {3, 4}};
  record.schedule =
      generate("hairpin-1f1b", {.pp = 2, .microbatches = 1, .split_backward = true}).value();
  record.step_before = 300.5;
  record.step_predicted = 280;
  record.in_flight_cap = {4, 4, 4};
  return record;
}

// The bytes of the file are a promise.
const std::string kLine =
    R"({"from_step":3,"reason":"first measured","step_before":300.5,"step_predicted":280.0,)"
    R"("times":{"forward":[10,20,30],"backward":[40,50,60],"backward_weight":[20,25,30],)"
    R"("latency":7,"up":{"activation":1,"gradient":2},"down":{"activation":3,"gradient":4}},)"
    R"("kind":"hairpin-1f1b","microbatches":1,"domains":1,"edge_ranks":1,)"
    R"("position_of_stage":[0,1,0],"split_backward":[false,true,true],"in_flight_cap":[4,4,4],)"
    R"("ranks":[["FS1","FE1","BSi1","BSw1","BE1"],["F1","Bi1","Bw1"]]})";

TEST(Record, GoldenLine) {
  EXPECT_EQ(to_line(sample()), kLine);
  EXPECT_EQ(parse_record(kLine).value(), sample());
}

RC_GTEST_PROP(Record, ComesBackAsItWas, ()) {
  const auto any = [](int begin, int end) { return *rc::gen::inRange(begin, end); };
  const auto [kind, shape] =
      *rc::gen::element(std::pair("gpipe", Shape::line), std::pair("gpipe", Shape::hairpin),
                        std::pair("zb-h1", Shape::line), std::pair("hairpin-1f1b", Shape::hairpin),
                        std::pair("hairpin-adaptive", Shape::hairpin));
  const int pp = any(2, 5), m = any(1, 6), domains = any(1, 4);
  GenerateOptions options{pp, m, domains,
                          shape == Shape::line ? 1 : any(1, std::min(4, m * domains) + 1), shape};
  options.split_backward = any(0, 2) == 1;
  Record record{.from_step = any(1, 1'000'000),
                .reason = "\"odd\"\n\xc3\xa4 " + std::to_string(any(0, 9)),
                .schedule = generate(kind, options).value()};
  if (any(0, 2) == 1) record.times = unit_times(record.schedule);
  record.step_before = any(0, 1'000'000) / 3.0;
  record.step_predicted = any(0, 1'000'000) * 1e9 / 7.0;
  const auto line = to_line(record);
  RC_ASSERT(line.find('\n') == std::string::npos);
  RC_ASSERT(parse_record(line).value() == record);
}

// kLine with FROM, which must stand in it, replaced.
std::string changed(const std::string& from, const std::string& to) {
  const auto at = kLine.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  std::string line = kLine;
  return line.replace(at, from.size(), to);
}

std::string refusal(const std::string& line) {
  const auto record = parse_record(line);
  if (record) return "accepted";
  EXPECT_EQ(record.error().kind, ErrorKind::bad_input);
  return record.error().message;
}

TEST(Record, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal(changed("\"from_step\":3,", "")),
            "schedule.jsonl: from_step is missing; the file is damaged or of another kind");
  EXPECT_THAT(refusal(changed("\"from_step\":3", "\"from_step\":0")),
              HasSubstr("from_step is 0; it must be a whole number from 1 to"));
  EXPECT_THAT(refusal(changed("\"from_step\":3", "\"from_step\":18446744073709551615")),
              HasSubstr("it must be a whole number"));
  EXPECT_THAT(refusal(changed("\"first measured\"", "5")), HasSubstr("reason is 5"));
  EXPECT_THAT(refusal(changed("300.5", "-1")), HasSubstr("step_before is -1"));
  EXPECT_THAT(refusal(changed("300.5", "null")), HasSubstr("step_before is null"));
  EXPECT_THAT(refusal(changed("\"latency\":7", "\"latency\":1000000001")),
              HasSubstr("times: latency is 1000000001"));
  EXPECT_THAT(refusal(changed("[20,25,30]", "[20,25,61]")), HasSubstr("weights' gradients"));
  EXPECT_THAT(refusal(changed("[10,20,30]", "[10,20]")), HasSubstr("2 forward"));
  EXPECT_THAT(refusal(changed("\"up\":{", "\"up\":{\"x\":1,")),
              HasSubstr("times: up: unknown key \"x\""));
  EXPECT_THAT(refusal(changed("{\"from_step\"", "{\"x\":1,\"from_step\"")),
              HasSubstr("unknown key \"x\""));
  EXPECT_THAT(refusal(changed("[false,true,true]", "[0,true,true]")), HasSubstr("split_backward"));
  EXPECT_THAT(refusal(changed("[0,1,0]", "[0,9,0]")), HasSubstr("position 9"));
  EXPECT_THAT(refusal(changed("\"edge_ranks\":1", "\"edge_ranks\":2")), HasSubstr("2 edge ranks"));
  EXPECT_THAT(refusal(changed("\"microbatches\":1", "\"microbatches\":2147483647")),
              HasSubstr("more than"));
  EXPECT_THAT(refusal(changed("\"FE1\",", "")), HasSubstr("FE1 is missing"));
  EXPECT_THAT(refusal(changed("\"FE1\"", "\"FE2\"")), HasSubstr("\"FE2\": microbatches are 1"));
  EXPECT_THAT(refusal(changed("\"FE1\"", "7")), HasSubstr("rank 0 has 7 for an op"));
  EXPECT_THAT(refusal(changed("[[", "[[[[")), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not an object"));
  EXPECT_THAT(refusal("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(std::string(kMaxRecordBytes + 1, ' ')), HasSubstr("the most is"));
}

// A damaged line is refused, or is another sound record.
RC_GTEST_PROP(Record, ADamagedLineIsRefusedOrSound, ()) {
  std::string line = kLine;
  const int damages = *rc::gen::inRange(1, 4);
  for (int i = 0; i < damages; ++i) {
    const auto at =
        *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, line.size()));
    line[at] = *rc::gen::elementOf(std::string("0129-.[]{}\",:FBSEiwtrue\x80\n"));
  }
  const auto record = parse_record(line);
  if (record) RC_ASSERT(parse_record(to_line(*record)).value() == *record);
  if (!record) RC_ASSERT(record.error().kind == ErrorKind::bad_input);
}

}  // namespace
}  // namespace hairpin::schedule
