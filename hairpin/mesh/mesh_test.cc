#include "hairpin/mesh/mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "hairpin/base/check.h"
#include "hairpin/mesh/share.h"

namespace hairpin::mesh {
namespace {

Mesh any_mesh() {
  Coordinate degrees;
  for (const auto axis : kAxes) degrees[axis] = *rc::gen::inRange(1, 6);
  return Mesh(degrees);
}

// The axes of a rank counted the other way: by nested loops, tp innermost.
TEST(MeshTest, TpCountsFastestThenCpThenDpThenPp) {
  const Mesh mesh({.pp = 2, .dp = 3, .cp = 2, .tp = 5});
  ASSERT_EQ(mesh.num_ranks(), 60);
  int rank = 0;
  for (int pp = 0; pp < 2; ++pp)
    for (int dp = 0; dp < 3; ++dp)
      for (int cp = 0; cp < 2; ++cp)
        for (int tp = 0; tp < 5; ++tp, ++rank) {
          const Coordinate at{.pp = pp, .dp = dp, .cp = cp, .tp = tp};
          EXPECT_EQ(mesh.rank(at), rank);
          EXPECT_EQ(mesh.coordinate(rank), at);
        }
}

TEST(MeshTest, GroupsOfASmallMesh) {
  const Mesh mesh({.pp = 2, .dp = 2, .cp = 1, .tp = 4});
  EXPECT_EQ(mesh.group(5, Axis::tp), (std::vector{4, 5, 6, 7}));
  EXPECT_EQ(mesh.group(5, Axis::cp), (std::vector{5}));
  EXPECT_EQ(mesh.group(5, Axis::dp), (std::vector{1, 5}));
  EXPECT_EQ(mesh.group(5, Axis::pp), (std::vector{5, 13}));
  EXPECT_EQ(mesh.subgroup(5, Axis::tp, 2), (std::vector{4, 5}));
  EXPECT_EQ(mesh.subgroup(6, Axis::tp, 2), (std::vector{6, 7}));
  EXPECT_EQ(mesh.subgroup(6, Axis::tp, 1), (std::vector{6}));
}

RC_GTEST_PROP(MeshProperty, RankAndCoordinateAreInverse, ()) {
  const auto mesh = any_mesh();
  std::set<std::string> seen;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const auto at = mesh.coordinate(rank);
    RC_ASSERT(mesh.rank(at) == rank);
    RC_ASSERT(seen.insert(coordinate_text(at)).second);
    for (const auto axis : kAxes) RC_ASSERT(at[axis] >= 0 && at[axis] < mesh.degree(axis));
  }
}

RC_GTEST_PROP(MeshProperty, GroupsAlongAnAxisPartitionTheRanks, ()) {
  const auto mesh = any_mesh();
  const auto axis = *rc::gen::elementOf(std::vector(kAxes.begin(), kAxes.end()));
  std::multiset<int> members;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const auto group = mesh.group(rank, axis);
    RC_ASSERT(static_cast<int>(group.size()) == mesh.degree(axis));
    RC_ASSERT(std::ranges::count(group, rank) == 1);
    if (group.front() == rank) members.insert(group.begin(), group.end());
    for (int i = 0; i < mesh.degree(axis); ++i) {
      auto want = mesh.coordinate(rank);
      want[axis] = i;
      RC_ASSERT(mesh.coordinate(group.at(static_cast<std::size_t>(i))) == want);
      RC_ASSERT(mesh.group(group.at(static_cast<std::size_t>(i)), axis) == group);
    }
  }
  RC_ASSERT(static_cast<int>(members.size()) == mesh.num_ranks());
  RC_ASSERT(std::set(members.begin(), members.end()).size() == members.size());
}

RC_GTEST_PROP(MeshProperty, SubgroupsCutAGroupIntoRuns, ()) {
  const auto mesh = any_mesh();
  const auto axis = *rc::gen::elementOf(std::vector(kAxes.begin(), kAxes.end()));
  const int rank = *rc::gen::inRange(0, mesh.num_ranks());
  const int size = *rc::gen::inRange(1, mesh.degree(axis) + 1);
  if (mesh.degree(axis) % size != 0) {
    EXPECT_THROW(mesh.subgroup(rank, axis, size), BrokenInvariant);
    return;
  }
  std::vector<int> runs;
  for (const int member : mesh.group(rank, axis)) {
    const auto run = mesh.subgroup(member, axis, size);
    RC_ASSERT(static_cast<int>(run.size()) == size);
    RC_ASSERT(std::ranges::count(run, member) == 1);
    if (run.front() == member) runs.insert(runs.end(), run.begin(), run.end());
  }
  RC_ASSERT(runs == mesh.group(rank, axis));
}

TEST(MeshTest, WhatDoesNotFitIsADefect) {
  EXPECT_THROW(Mesh({.pp = 1, .dp = 0, .cp = 1, .tp = 1}), BrokenInvariant);
  EXPECT_THROW(Mesh({.pp = 1, .dp = 1, .cp = 1, .tp = -2}), BrokenInvariant);
  EXPECT_THROW(Mesh({.pp = 65536, .dp = 65536, .cp = 65536, .tp = 65536}), BrokenInvariant);
  const Mesh mesh({.pp = 2, .dp = 1, .cp = 1, .tp = 3});
  for (const int rank : {-1, 6}) {
    EXPECT_THROW(mesh.coordinate(rank), BrokenInvariant);
    EXPECT_THROW(mesh.group(rank, Axis::tp), BrokenInvariant);
  }
  EXPECT_THROW(mesh.rank({.pp = 0, .dp = 0, .cp = 0, .tp = 3}), BrokenInvariant);
  EXPECT_THROW(mesh.rank({.pp = -1, .dp = 0, .cp = 0, .tp = 0}), BrokenInvariant);
  EXPECT_THROW(mesh.rank({.pp = 0, .dp = 1, .cp = 0, .tp = 0}), BrokenInvariant);
  EXPECT_THROW(mesh.subgroup(0, Axis::tp, 2), BrokenInvariant);
  EXPECT_THROW(mesh.subgroup(0, Axis::tp, 0), BrokenInvariant);
}

TEST(MeshTest, TextNamesContextParallelismOnlyWhereItIsUsed) {
  EXPECT_EQ(coordinate_text({.pp = 1, .dp = 0, .cp = 0, .tp = 3}), "pp 1, dp 0, tp 3");
  EXPECT_EQ(coordinate_text({.pp = 1, .dp = 0, .cp = 2, .tp = 3}), "pp 1, dp 0, cp 2, tp 3");
  EXPECT_EQ(axis_name(Axis::pp), "pp");
  EXPECT_EQ(axis_name(Axis::dp), "dp");
  EXPECT_EQ(axis_name(Axis::cp), "cp");
  EXPECT_EQ(axis_name(Axis::tp), "tp");
}

// Dealt out one by one, round after round, each rank gets as many as its share counts.
RC_GTEST_PROP(ShareProperty, SharesCoverTheTotalInOrder, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(0, 200);
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 20);
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(ranks));
  for (std::int64_t i = 0; i < total; ++i) ++dealt[static_cast<std::size_t>(i % ranks)];
  std::int64_t next = 0;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const auto mine = share(total, ranks, r);
    RC_ASSERT(mine.begin == next);
    RC_ASSERT(mine.count == dealt[static_cast<std::size_t>(r)]);
    next = mine.end();
  }
  RC_ASSERT(next == total);
}

}  // namespace
}  // namespace hairpin::mesh
