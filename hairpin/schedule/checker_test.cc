#include "hairpin/schedule/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

Schedule hairpin(int pp, int m, int domains = 1) {
  return generate("hairpin-1f1b", {pp, m, domains}).value();
}

// Replaces RANK's list by the ops that TEXT names.
Schedule with_list(Schedule schedule, int rank, const std::string& text) {
  std::vector<Op> ops;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    ops.push_back(parse_op(schedule, rank, text.substr(begin, end - begin)).value());
    begin = end + 1;
  }
  schedule.ranks[static_cast<std::size_t>(rank)] = ops;
  return schedule;
}

std::string refusal(const Schedule& schedule, const CheckOptions& options = {}) {
  const auto ok = check(schedule, options);
  if (ok) return "accepted";
  EXPECT_EQ(ok.error().kind, ErrorKind::bad_input);
  return ok.error().message;
}

TEST(Checker, RefusesADoubledOp) {
  Schedule s = hairpin(3, 4);
  s.ranks[0].push_back({OpKind::forward, 3, 2});
  EXPECT_EQ(refusal(s), "FE3 on rank 0 stands twice");
}

TEST(Checker, RefusesADroppedOp) {
  Schedule s = hairpin(3, 4);
  std::erase(s.ranks[2], Op{OpKind::backward, 2, 3});
  EXPECT_EQ(refusal(s), "B4 is missing on rank 2");
}

TEST(Checker, RefusesAnOpOnAnotherRank) {
  Schedule s = hairpin(3, 4);
  std::erase(s.ranks[1], Op{OpKind::forward, 1, 3});
  s.ranks[2].push_back({OpKind::forward, 1, 3});
  EXPECT_EQ(refusal(s), "F4 (stage 1) stands on rank 2, but belongs on rank 1");
}

TEST(Checker, RefusesAnOpOfAnotherDomainsRank) {
  Schedule s = hairpin(2, 1, 2);
  std::swap(s.ranks[1], s.ranks[2]);
  EXPECT_EQ(refusal(s), "F1.1 (stage 1) stands on rank 1, but belongs on rank 2");
}

TEST(Checker, RefusesAnOpOfAnotherReplica) {
  Schedule s = generate("hairpin-1f1b", {2, 2, 1, 2}).value();
  std::swap(s.ranks[0], s.ranks[1]);
  EXPECT_EQ(refusal(s), "FS2 (stage 0) stands on rank 0, but belongs on rank 1");
  s = generate("hairpin-1f1b", {2, 2, 1, 2}).value();
  std::erase(s.ranks[1], Op{OpKind::backward, 0, 1});
  EXPECT_EQ(refusal(s), "BE2 is missing on rank 1");
}

TEST(Checker, RefusesOpsOutsideTheSchedule) {
  for (const Op op :
       {Op{OpKind::forward, 4, 0}, Op{OpKind::forward, -1, 0}, Op{OpKind::forward, 0, 4},
        Op{OpKind::forward, 0, -1}, Op{OpKind::forward, 0, 0, 1}, Op{OpKind::forward, 0, 0, -1}}) {
    Schedule s = hairpin(3, 4);
    s.ranks[0].push_back(op);
    EXPECT_THAT(refusal(s), HasSubstr("is none of the schedule's 4 stages"));
  }
}

TEST(Checker, RefusesABackwardBeforeItsForward) {
  EXPECT_EQ(refusal(with_list(hairpin(2, 1), 0, "FS1 BS1 FE1 BE1")),
            "the hairpin-1f1b schedule deadlocks: BS1 on rank 0 waits for FE1 on rank 0, which "
            "stands after BS1 there");
}

TEST(Checker, NamesEveryOpOfADeadlock) {
  // The edge wants FE2 before it gives BS1, the cloud wants BS1's gradient before it runs F2.
  Schedule s = with_list(hairpin(2, 2), 0, "FS1 FS2 FE1 FE2 BS1 BS2 BE1 BE2");
  EXPECT_EQ(refusal(with_list(s, 1, "F1 B1 F2 B2")),
            "the hairpin-1f1b schedule deadlocks: FE2 on rank 0 waits for F2 on rank 1, which "
            "stands after B1 there; B1 on rank 1 waits for BS1 on rank 0, which stands after FE2 "
            "there");
}

TEST(Checker, NamesTheReplicaOfADeadlock) {
  const Schedule s = generate("hairpin-1f1b", {2, 2, 1, 2}).value();
  EXPECT_EQ(refusal(with_list(s, 1, "FS2 BS2 FE2 BE2")),
            "the hairpin-1f1b schedule deadlocks: BS2 on rank 1 waits for FE2 on rank 1, which "
            "stands after BS2 there");
}

TEST(Checker, FindsADeadlockThatAnotherRankOnlyFollows) {
  // Rank 0 waits for the cycle of ranks 1 and 2, but is no part of it.
  Schedule s = generate("1f1b", {3, 2}).value();
  s = with_list(s, 1, "F1 B1 F2 B2");
  s = with_list(s, 2, "F1 F2 B1 B2");
  const std::string message = refusal(s);
  EXPECT_THAT(message, HasSubstr("B1 on rank 1 waits for B1 on rank 2"));
  EXPECT_THAT(message, HasSubstr("F2 on rank 2 waits for F2 on rank 1"));
  EXPECT_THAT(message, testing::Not(HasSubstr("rank 0")));
}

TEST(Checker, RefusesASwapThatReordersAChannel) {
  const Schedule s = generate("gpipe", {2, 3}).value();
  EXPECT_EQ(refusal(with_list(s, 1, "F1 F3 F2 B1 B2 B3")),
            "the activation channel from rank 0 to rank 1 has two orders: its message 2 is sent by "
            "F2 but read by F3");
  EXPECT_EQ(refusal(with_list(s, 1, "F1 F2 F3 B2 B1 B3")),
            "the gradient channel from rank 1 to rank 0 has two orders: its message 1 is sent by "
            "B2 but read by B1");
}

TEST(Checker, ChannelsOfDifferentBoundariesAreIndependent) {
  // At PP 2 the one cloud rank reads FS and BS in another order than the edge runs them.
  EXPECT_EQ(refusal(hairpin(2, 6)), "accepted");
}

// Replica 0 serves the odd microbatches, replica 1 the even ones.
TEST(Checker, ChannelsOfDifferentReplicasAreIndependent) {
  const Schedule s = generate("gpipe", {2, 4, 1, 2, Shape::hairpin}).value();
  EXPECT_EQ(refusal(with_list(s, 2, "F2 F1 F3 F4 B1 B2 B4 B3")), "accepted");
  EXPECT_EQ(refusal(with_list(s, 2, "F1 F4 F3 F2 B1 B2 B3 B4")),
            "the activation channel from rank 1 to rank 2 has two orders: its message 1 is sent by "
            "FS2 but read by F4");
}

TEST(Checker, HoldsEveryStageToItsCap) {
  const Schedule s = hairpin(3, 8);
  EXPECT_EQ(refusal(s, {.in_flight_cap = {5, 3, 2, 1}}), "accepted");
  EXPECT_EQ(refusal(s, {.in_flight_cap = {4, 3, 2, 1}}),
            "FS5 on rank 0 makes 5 microbatches in flight on stage 0, whose cap is 4");
  EXPECT_EQ(refusal(s, {.in_flight_cap = {5, 3, 1, 1}}),
            "F2 on rank 2 makes 2 microbatches in flight on stage 2, whose cap is 1");
  EXPECT_THAT(refusal(s, {.in_flight_cap = {5, 3}}),
              HasSubstr("caps on microbatches in flight were given for 2 of 4 stages"));
}

// Two ranks, the second one's backward split.
Schedule split_line(const std::string& second) {
  Schedule s = generate("1f1b", {2, 2}).value();
  s.split_backward = {false, true};
  return with_list(s, 1, second);
}

TEST(Checker, ASplitBackwardHasBothPartsOnceInOrder) {
  EXPECT_EQ(refusal(split_line("F1 Bi1 F2 Bw1 Bi2 Bw2")), "accepted");
  EXPECT_EQ(refusal(split_line("F1 Bi1 F2 Bi2 Bw1 Bw2")), "accepted");
  EXPECT_EQ(refusal(split_line("F1 Bi1 F2 Bi2 Bw1")), "Bw2 is missing on rank 1");
  EXPECT_EQ(refusal(split_line("F1 Bi1 F2 Bi2 Bw1 Bw2 Bw1")), "Bw1 on rank 1 stands twice");
  EXPECT_EQ(refusal(split_line("F1 Bi1 F2 Bi2 Bw2 Bw1")),
            "Bw1 on rank 1 stands after Bw2; weights' gradients are added in ascending order");
  EXPECT_EQ(refusal(split_line("F1 Bw1 Bi1 F2 Bi2 Bw2")),
            "the 1f1b schedule deadlocks: Bw1 on rank 1 waits for Bi1 on rank 1, which stands "
            "after Bw1 there");
}

TEST(Checker, AStageIsWholeOrSplit) {
  Schedule s = split_line("F1 Bi1 F2 Bw1 Bi2 Bw2");
  s.ranks[1][1].kind = OpKind::backward;
  EXPECT_EQ(refusal(s), "B1 stands on rank 1, but the backward of stage 1 is split");
  s = split_line("F1 Bi1 F2 Bw1 Bi2 Bw2");
  s.split_backward = {};
  EXPECT_EQ(refusal(s), "Bi1 stands on rank 1, but the backward of stage 1 is whole");
  s.split_backward = {true};
  EXPECT_EQ(refusal(s), "the schedule says of 1 stages whether they are split, but has 2");
}

TEST(Checker, HoldsPendingWeightsToTheirCap) {
  const Schedule s = split_line("F1 Bi1 F2 Bi2 Bw1 Bw2");
  EXPECT_EQ(refusal(s, {.in_flight_cap = {2, 1}, .pending_weights_cap = {1, 2}}), "accepted");
  EXPECT_EQ(refusal(s, {.pending_weights_cap = {1, 1}}),
            "Bi2 on rank 1 makes 2 pending weight gradients on stage 1, whose cap is 1");
}

TEST(Checker, RefusesAnUnsoundLayout) {
  const Schedule good = hairpin(3, 4);
  Schedule s = good;
  s.position_of_stage[1] = 3;
  EXPECT_THAT(refusal(s), HasSubstr("stage 1 lies at position 3"));
  s.position_of_stage[1] = -1;
  EXPECT_THAT(refusal(s), HasSubstr("stage 1 lies at position -1"));
  s = good;
  s.domains = 2;
  EXPECT_THAT(
      refusal(s),
      HasSubstr("1 edge ranks and 2 domains of 2 ranks are 5 ranks, but there are 3 lists"));
  s = good;
  s.edge_ranks = 4;
  EXPECT_THAT(refusal(s), HasSubstr("4 edge ranks and 1 domains of 2 ranks are 6 ranks"));
  s.edge_ranks = -1;
  EXPECT_EQ(refusal(s), "the schedule has -1 edge ranks");
  s = good;
  s.microbatches = 2000000000;
  EXPECT_THAT(refusal(s), HasSubstr("more than 4194304 ops"));
  EXPECT_THAT(refusal(Schedule{}), HasSubstr("needs a stage"));
}

}  // namespace
}  // namespace hairpin::schedule
