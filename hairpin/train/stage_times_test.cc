#include "hairpin/train/stage_times.h"

#include <gtest/gtest.h>

namespace hairpin::train {
namespace {

using schedule::OpKind;
using namespace std::chrono_literals;

pipeline::OpTime op(OpKind kind, int stage, int microbatch, std::chrono::nanoseconds took) {
  const std::chrono::steady_clock::time_point begin{std::chrono::seconds(microbatch)};
  return {{.kind = kind, .stage = stage, .microbatch = microbatch}, begin, begin + took};
}

TEST(StageTimes, AreMediansByStageAndKind) {
  using enum OpKind;
  const auto times =
      stage_times({op(forward, 3, 0, 900us), op(forward, 0, 0, 10us), op(forward, 3, 1, 20us),
                   op(forward, 3, 2, 30us), op(backward, 0, 0, 8us), op(backward_input, 3, 0, 40us),
                   op(backward_input, 3, 1, 60us), op(backward_weight, 3, 0, 5us),
                   op(backward_weight, 3, 1, 7us), op(forward, 3, 3, 31us)});
  const std::vector<wire::StageTime> want = {{0, 10, 8, 0}, {3, 30, 45, 5}};
  EXPECT_EQ(times, want);
}

TEST(StageTimes, AreAtLeastAMicrosecond) {
  const std::vector<wire::StageTime> want = {{1, 1, 0, 0}};
  EXPECT_EQ(stage_times({op(OpKind::forward, 1, 0, 10ns)}), want);
}

TEST(StageTimes, TheSlowestRankCounts) {
  std::vector<wire::StageTime> joined;
  join_slowest(joined, {{2, 5, 6, 7}, {4, 1, 1, 1}});
  join_slowest(joined, {{1, 2, 2, 2}, {2, 4, 9, 8}});
  const std::vector<wire::StageTime> want = {{1, 2, 2, 2}, {2, 5, 9, 8}, {4, 1, 1, 1}};
  EXPECT_EQ(joined, want);
}

}  // namespace
}  // namespace hairpin::train
