// Replicas of an edge may end their two stages in different orders: a schedule may say so, and the
// results are those of any other order.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "hairpin/hf/tiny_model.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/train/run.h"
#include "hairpin/train/setup.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

using schedule::Op;
using schedule::OpKind;
using train::Part;

// Moves the edge's last weights' op of the tail behind all others, or before the head's last.
void end_with(std::vector<Op>& ops, bool tail) {
  const auto is_tail = [](const Op& op) { return op.kind == OpKind::backward_weight; };
  const auto is_head = [](const Op& op) { return op.kind == OpKind::backward; };
  const auto last = std::find_if(ops.rbegin(), ops.rend(), tail ? is_tail : is_head);
  ASSERT_NE(last, ops.rend());
  std::rotate(last.base() - 1, last.base(), ops.end());
}

Outcome run(const config::Job& job, const samples::Dataset& dataset, bool mixed) {
  auto edge = train::prepare(job, Part::edge).value();
  auto cloud = train::prepare(job, Part::cloud).value();
  for (int replica = 0; replica < 2; ++replica)
    end_with(edge.schedule.ranks[static_cast<std::size_t>(replica)], mixed && replica == 1);
  EXPECT_TRUE(schedule::check(edge.schedule));
  cloud.schedule = edge.schedule;
  auto pair = memory_pair();
  Result<void> cloud_end;
  std::jthread thread([&] { cloud_end = train::train_cloud(cloud, *pair.cloud); });
  const auto edge_end = train::train_edge(edge, dataset, *pair.edge, nullptr);
  thread.join();
  EXPECT_TRUE(edge_end) << edge_end.error().message;
  EXPECT_TRUE(cloud_end) << cloud_end.error().message;
  return edge_end ? outcome_of(job.output.directory / "edge") : Outcome{};
}

TEST(Order, ReplicasMayEndTheirStagesInDifferentOrders) {
  TemporaryDirectory directory;
  ASSERT_TRUE(hf::write_tiny_model(directory / "model", {}));
  const auto dataset = random_dataset(20, 40, 331, 5);
  config::Job job = tiny_job(directory / "model", directory / "alike");
  set_split(job, {1, 2, 2, 1}, dp(2), dp(1));
  job.schedule.split_backward = true;
  job.train.microbatches = 4;
  const auto alike = run(job, dataset, false);
  job.output.directory = directory / "mixed";
  EXPECT_TRUE(run(job, dataset, true) == alike);
}

}  // namespace
}  // namespace hairpin
