#include "hairpin/schedule/flow.h"

#include <gtest/gtest.h>

#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {
namespace {

TEST(Flow, CountsRoundTripsInTheBusiestOnesPeriods) {
  // Two edge replicas, three domains, one cloud stage; the edge needs 10 a microbatch, a cloud rank
  // 12, the link 1 + 3 up.
  const Schedule layout = layout_of("hairpin-1f1b", {2, 20, 3, 2}).value();
  Times times{.forward = {1, 4, 2}, .backward = {3, 8, 4}, .latency = 5};
  times.up = {1, 3};
  const Flow flow = flow_of(layout, times);
  // A microbatch of the step: the edge 10 / 2 = 5, the cloud 12 / 3 = 4, the link 4. Times 6.
  EXPECT_EQ(flow.scaled_period, 30);
  // Tail: 2 + 4. Cloud: 12, 5 down, 6, 3 + 5 up. Head: 1, 1 + 5 up, 31, 5 down, 3.
  EXPECT_EQ(flow.round_trip, (std::vector<std::int64_t>{46, 31, 6}));
  EXPECT_EQ(depth_of(layout, flow, 0, 1), 5);    // 46 / (5 x 2), one of two replicas
  EXPECT_EQ(depth_of(layout, flow, 1, 1), 3);    // 31 / (5 x 3), one of three domains
  EXPECT_EQ(depth_of(layout, flow, 0, 2), 10);   // 92 / 10
  EXPECT_EQ(depth_of(layout, flow, 0, 99), 30);  // all that a replica has
  times.up.gradient = 9;
  EXPECT_EQ(flow_of(layout, times).scaled_period, 60);  // now the link's 10
}

}  // namespace
}  // namespace hairpin::schedule
