#include "hairpin/schedule/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "hairpin/schedule/command.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;
using testing::Not;

Timeline sample() {
  return simulate_timeline({.kind = "hairpin-1f1b",
                            .generate = {2, 3, 2, 1, std::nullopt, true},
                            .times = {.latency = 1, .transfer_up = 0.5}})
      .value();
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Timeline, HasALaneForEachRankAndUsedDirection) {
  const Timeline timeline = sample();
  std::vector<std::string> names;
  std::size_t bars = 0, critical = 0;
  for (const Lane& lane : timeline.lanes) {
    names.push_back(lane.name);
    bars += lane.bars.size();
    for (const Bar& bar : lane.bars) {
      critical += bar.critical;
      EXPECT_TRUE(!bar.critical || bar.slack == 0) << bar.name;
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"edge", "cloud 1 domain 0", "cloud 1 domain 1", "link up"}));
  EXPECT_EQ(bars, 6u * 8 + 12);  // FS FE BSi BSw BE F Bi Bw, and two ways up
  EXPECT_GT(critical, 0u);
  EXPECT_EQ(timeline.lanes[0].bars[0].name, "FS1.0");
}

// Every element is closed; nothing is fetched or run.
void expect_well_formed(const std::string& text) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)([^<>]*?)(/?)>");
  for (std::sregex_iterator it(text.begin(), text.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2];
    if (name == "meta") continue;
    if ((*it)[1].length() > 0) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    } else if ((*it)[4].length() == 0) {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("href")));
}

TEST(Draw, SvgHasABarForEachOp) {
  const std::string svg = svg_of(sample());
  EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0u);
  EXPECT_EQ(count(svg, "<rect"), 1 + 6u * 8 + 12);
  EXPECT_THAT(svg, HasSubstr("<title>FS1.0: 0 to 1, slack "));
  EXPECT_THAT(svg, HasSubstr(">link up</text>"));
  expect_well_formed(svg);
  expect_well_formed(html_of(sample()).substr(sizeof("<!doctype html>")));
}

TEST(Draw, NamesAreEscapedAndNothingIsDivided) {
  const Timeline odd{.title = "<&\">", .lanes = {{"a<b", {{.name = "x&y"}}}}};
  const std::string svg = svg_of(odd);
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&quot;&gt;"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Draw, TraceIsChromesFormat) {
  const auto trace = nlohmann::json::parse(trace_of(sample())).at("traceEvents");
  EXPECT_EQ(trace.size(), 4 + 6u * 8 + 12);
  EXPECT_EQ(trace[0].at("ph"), "M");
  EXPECT_EQ(trace[0].at("args").at("name"), "edge");
  EXPECT_EQ(trace[1].at("ph"), "X");
  EXPECT_EQ(trace[1].at("name"), "FS1.0");
  EXPECT_EQ(trace[1].at("ts"), 0);
  EXPECT_EQ(trace[1].at("dur"), 1);
}

}  // namespace
}  // namespace hairpin::schedule
