#include "hairpin/schedule/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hairpin/schedule/advice.h"

namespace hairpin::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> kinds_of(const Comparison& comparison) {
  std::vector<std::string> kinds;
  for (const Compared& one : comparison.kinds) kinds.push_back(one.kind);
  return kinds;
}

TEST(Compare, TheKindsOfAShape) {
  CompareOptions options{.generate = {3, 8}};
  EXPECT_THAT(kinds_of(compare(options).value()),
              ElementsAre("gpipe", "hairpin-1f1b", "hairpin-adaptive"));
  EXPECT_TRUE(compare(options)->depth_needed);
  options.generate.shape = Shape::line;
  EXPECT_THAT(kinds_of(compare(options).value()), ElementsAre("gpipe", "1f1b", "zb-h1"));
  EXPECT_FALSE(compare(options)->depth_needed);
}

TEST(Compare, MarksWhatACapForbidsButShowsItAsItIs) {
  CompareOptions options{.generate = {2, 64}, .times = {.latency = 4}};
  options.generate.in_flight_cap = {4};
  const Comparison comparison = compare(options).value();
  EXPECT_THAT(comparison.kinds[0].refusal, HasSubstr("whose cap is 4"));
  EXPECT_EQ(comparison.kinds[1].refusal, "");
  EXPECT_EQ(comparison.kinds[1].makespan, 561);
  EXPECT_EQ(comparison.kinds[1].bound, 395);
  EXPECT_EQ(comparison.kinds[2].refusal, "");
  EXPECT_LT(comparison.kinds[2].makespan, 561);
}

TEST(Compare, TextAndJson) {
  CompareOptions options{.generate = {2, 64}};
  options.generate.in_flight_cap = {3};
  const std::string text = compare_report(options).value();
  EXPECT_THAT(text, HasSubstr("\nhairpin-1f1b            388       388    1.003  no      4 2 1\n"));
  EXPECT_THAT(text, HasSubstr("1.03 x bound needs 3 "));
  options.json = true;
  const auto json = nlohmann::json::parse(compare_report(options).value());
  EXPECT_EQ(json.at("kinds").at(1).at("makespan"), 388);
  EXPECT_EQ(json.at("kinds").at(1).at("legal"), false);
  EXPECT_EQ(json.at("depth_needed").at(0), 3);
  options.generate.in_flight_cap = {3, 3};
  EXPECT_THAT(compare_report(options).error().message, HasSubstr("3 stages, but 2 caps"));
}

TEST(Advice, NamesWhatWouldHelpMost) {
  GenerateOptions options{2, 64};
  const Costs costs =
      to_costs(layout_of("hairpin-1f1b", options).value(), TimeOptions{.latency = 8}).value();
  const auto improved = improvements("hairpin-1f1b", options, costs).value();
  EXPECT_EQ(improved.front().what, "half the latency");
  EXPECT_EQ(improved.front().step, 561);  // the spec's table: 825 at 8, 561 at 4
  EXPECT_EQ(improved.size(), 2u);         // and the edge's speed; the link costs no bandwidth
  EXPECT_EQ(advice(improved, 825), "half the latency would help most: step 825 -> 561 (-32 %)");
  EXPECT_THAT(advice(improved, 561), HasSubstr("neither bandwidth nor latency"));
}

TEST(Advice, TwiceTheBandwidthHalvesTransfers) {
  GenerateOptions options{2, 1};  // one microbatch: 12 of work and four transfers of 10
  const Costs costs = to_costs(layout_of("gpipe", options).value(), TimeOptions{}).value();
  EXPECT_TRUE(improvements("gpipe", options, costs)->empty());  // a line
  options.shape = Shape::hairpin;
  const Costs link = to_costs(layout_of("gpipe", options).value(),
                              TimeOptions{.transfer_up = 10, .transfer_down = 10})
                         .value();
  const auto improved = improvements("gpipe", options, link).value();
  EXPECT_EQ(improved[0].what, "twice the bandwidth");
  EXPECT_EQ(improved[0].step, 12 + 4 * 5);
  EXPECT_EQ(improved[1].what, "an edge twice as fast");
  EXPECT_EQ(improved[1].step, 12 - 3 + 4 * 10);
}

TEST(Advice, MemoryWhereACapHolds) {
  GenerateOptions options{2, 64};
  options.in_flight_cap = {8};
  const Costs costs = to_costs(layout_of("hairpin-adaptive", options).value(),
                               TimeOptions{.latency = 20, .transfer_up = 0.1})
                          .value();
  const auto improved = improvements("hairpin-adaptive", options, costs).value();
  EXPECT_EQ(improved.size(), 4u);
  std::vector<std::string> names;
  for (const Improvement& one : improved) names.push_back(one.what);
  EXPECT_THAT(names, testing::Contains("twice the memory for microbatches in flight"));
  EXPECT_THAT(names, testing::Contains("twice the bandwidth"));
}

}  // namespace
}  // namespace hairpin::schedule
