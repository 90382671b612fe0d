#include "hairpin/schedule/time_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Schedule hairpin() { return layout_of("hairpin-1f1b", {4, 2}).value(); }
Schedule line() { return layout_of("1f1b", {3, 2}).value(); }

std::string refusal(const Schedule& layout, const TimeOptions& options) {
  const auto costs = to_costs(layout, options);
  return costs ? "accepted" : costs.error().message;
}

TEST(TimeOptions, ListsGoToTheCloudsStagesOrToALine) {
  Costs costs = to_costs(hairpin(), TimeOptions{.fs = 5, .f = {2, 3, 4}, .b = {7}}).value();
  EXPECT_THAT(costs.forward, ElementsAre(5, 2, 3, 4, 1));
  EXPECT_THAT(costs.backward, ElementsAre(2, 7, 7, 7, 2));
  EXPECT_THAT(costs.backward_weight, ElementsAre(1, 3.5, 3.5, 3.5, 1));
  costs = to_costs(line(), TimeOptions{.f = {2, 3, 2}, .weight_share = 0.25}).value();
  EXPECT_THAT(costs.forward, ElementsAre(2, 3, 2));
  EXPECT_THAT(costs.backward_weight, ElementsAre(1, 1, 1));
  EXPECT_THAT(refusal(hairpin(), {.f = {2, 3}}), HasSubstr("--f has 2 times for 3 stages"));
  EXPECT_THAT(refusal(line(), {.b = {1, 2}}), HasSubstr("--b has 2 times for 3 stages"));
}

TEST(TimeOptions, TransfersAreTimesOrBytesOverBandwidth) {
  Costs costs = to_costs(hairpin(), TimeOptions{.transfer_up = 2, .transfer_down = 3}).value();
  EXPECT_EQ(costs.link.up.activation, 2);
  EXPECT_EQ(costs.link.up.gradient, 2);
  EXPECT_EQ(costs.link.down.activation, 3);
  costs = to_costs(hairpin(), TimeOptions{.bytes = 10, .bandwidth_down = 4}).value();
  EXPECT_EQ(costs.link.up.activation, 0);
  EXPECT_EQ(costs.link.down.gradient, 2.5);
}

TEST(TimeOptions, Refusals) {
  EXPECT_EQ(refusal(hairpin(), {.bytes = 10, .bandwidth_up = 0}),
            "bandwidth is 0; it must be above zero and finite");
  EXPECT_THAT(refusal(hairpin(), {.bytes = -1, .bandwidth_up = 1}), HasSubstr("-1 bytes"));
  EXPECT_THAT(refusal(hairpin(), {.bandwidth_up = 1}), HasSubstr("--bandwidth-up needs --bytes"));
  EXPECT_THAT(refusal(hairpin(), {.bytes = 1}), HasSubstr("--bytes needs a bandwidth"));
  EXPECT_THAT(refusal(hairpin(), {.transfer_down = 1, .bytes = 1, .bandwidth_down = 1}),
              HasSubstr("give one of them"));
  EXPECT_THAT(refusal(hairpin(), {.transfer_up = -1}), HasSubstr("transfer up is -1"));
  EXPECT_THAT(refusal(hairpin(), {.weight_share = 1.5}), HasSubstr("--weight-share is 1.5"));
  EXPECT_THAT(refusal(hairpin(), {.latency = -1}), HasSubstr("latency is -1"));
  EXPECT_THAT(refusal(line(), {.transfer_up = 1}), HasSubstr("leave them out"));
  EXPECT_THAT(refusal(line(), {.fe = 1}), HasSubstr("--fe is a time of an edge"));
}

TEST(Times, RoundToSevenDigitsOfTheLongest) {
  const Schedule layout = line();
  const Costs costs{.forward = {1, 2.5, 0}, .backward = {4, 1.0 / 3, 4}};
  const Times times = to_times(layout, costs).value();
  EXPECT_THAT(times.forward, ElementsAre(1'000'000, 2'500'000, 0));
  EXPECT_THAT(times.backward, ElementsAre(4'000'000, 333'333, 4'000'000));
  EXPECT_EQ(to_costs(layout, times).value().backward[1], 333'333);
  for (const double scale : {1e-300, 1e-7, 1e9, 1e300}) {
    Costs scaled = costs;
    for (double& time : scaled.forward) time *= scale;
    for (double& time : scaled.backward) time *= scale;
    const auto made = to_times(layout, scaled);
    EXPECT_EQ(made.has_value(), scale < 1e100) << scale;
  }
}

TEST(Times, AreBounded) {
  const Schedule layout = line();
  const auto refusal = [&layout](const Times& times) {
    const auto costs = to_costs(layout, times);
    return costs ? std::string("accepted") : costs.error().message;
  };
  Times times = unit_times(layout);
  EXPECT_EQ(refusal(times), "accepted");
  times.latency = kMaxMicroseconds + 1;
  EXPECT_THAT(refusal(times), HasSubstr("a time of latency is 1000000001 us"));
  times = unit_times(layout);
  times.up.gradient = -1;
  EXPECT_THAT(refusal(times), HasSubstr("a time of transfer is -1 us"));
  times = unit_times(layout);
  times.backward.pop_back();
  EXPECT_THAT(refusal(times), HasSubstr("3 forward and 2 backward times"));
}

TEST(Times, TransferOfBytes) {
  EXPECT_EQ(transfer_microseconds(1'000'000, 125'000'000).value(), 8000);
  EXPECT_EQ(transfer_microseconds(1, 125'000'000).value(), 1);  // rounded up
  EXPECT_EQ(transfer_microseconds(0, 1).value(), 0);
  EXPECT_THAT(transfer_microseconds(1, 0).error().message, HasSubstr("must be above zero"));
  EXPECT_THAT(transfer_microseconds(-1, 1).error().message, HasSubstr("-1 bytes"));
  EXPECT_THAT(transfer_microseconds(std::int64_t{1} << 62, 1).error().message,
              HasSubstr("take longer than"));
}

}  // namespace
}  // namespace hairpin::schedule
