#include "hairpin/collective/local.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "hairpin/base/check.h"

namespace hairpin::collective {
namespace {

using Groups = std::vector<std::unique_ptr<Group>>;

// Each rank's function in a thread of its own; ends when all have ended.
void on_ranks(int size, const std::function<void(int)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(body, rank);
}

Group& at(const Groups& groups, int rank) { return *groups.at(static_cast<std::size_t>(rank)); }

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
  return "nothing was thrown";
}

TEST(LocalWorldTest, MembersKnowTheirPlace) {
  LocalWorld world;
  const auto groups = world.make_group(3, "edge dp group");
  ASSERT_EQ(groups.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(at(groups, rank).rank(), rank);
    EXPECT_EQ(at(groups, rank).size(), 3);
    EXPECT_EQ(at(groups, rank).name(), "edge dp group");
    EXPECT_TRUE(at(groups, rank).shares_memory());
  }
  EXPECT_FALSE(world.error());
  EXPECT_THROW(world.make_group(0, "empty"), BrokenInvariant);
}

TEST(LocalWorldTest, GroupsFailTogetherAndLaterOnesToo) {
  LocalWorld world;
  const auto one = world.make_group(2, "one"), other = world.make_group(2, "other");
  on_ranks(3, [&](int thread) {
    if (thread == 2) return world.fail({ErrorKind::peer, "cause"});
    EXPECT_EQ(message_of([&] { at(thread == 0 ? one : other, 0).barrier(); }), "cause");
  });
  ASSERT_TRUE(world.error());
  EXPECT_EQ(world.error()->kind, ErrorKind::peer);
  const auto late = world.make_group(1, "late");
  EXPECT_EQ(message_of([&] { at(late, 0).barrier(); }), "cause");
  std::vector<float> data(1);
  EXPECT_EQ(message_of([&] { at(late, 0).all_reduce_async(data).wait(); }), "cause");
}

TEST(LocalWorldTest, TwoGroupsOfTheSameRanksDoNotDisturbOneAnother) {
  LocalWorld world;
  const auto tp = world.make_group(3, "tp"), dp = world.make_group(3, "dp");
  on_ranks(3, [&](int rank) {
    for (int round = 0; round < 30; ++round) {
      std::vector<float> a(50, 1), b(50, 2);
      auto work = at(dp, rank).all_reduce_async(a);
      at(tp, rank).all_reduce(b);
      EXPECT_EQ(b[49], 6);
      work.wait();
      EXPECT_EQ(a[49], 3);
    }
  });
}

// The creating thread's own value, handed to its workers.
thread_local int meter = 0;

TEST(LocalWorldTest, WorkersStartWithWhatTheirRankHandsThem) {
  std::mutex mutex;
  std::vector<int> handed;
  std::vector<std::pair<bool, int>> seen;  // of spans: on a worker, the meter there
  LocalWorld world;
  world.on_worker_start([&]() -> std::function<void()> {
    const std::lock_guard lock(mutex);
    handed.push_back(meter);
    return [value = meter] { meter = value; };
  });
  world.on_span([&](const Span& span) {
    const std::lock_guard lock(mutex);
    if (span.operation == "all_reduce") seen.emplace_back(span.on_worker, meter);
  });
  const auto groups = world.make_group(2, "g");
  on_ranks(2, [&](int rank) {
    meter = 10 + rank;
    std::vector<float> data(3);
    at(groups, rank).barrier();
    EXPECT_EQ(at(groups, rank).traffic().operations, 1u);
    at(groups, rank).all_reduce_async(data).wait();
    at(groups, rank).all_reduce_async(data).wait();
  });
  std::ranges::sort(handed);
  std::ranges::sort(seen);
  EXPECT_EQ(handed, (std::vector{10, 11}));
  EXPECT_EQ(seen,
            (std::vector<std::pair<bool, int>>{{true, 10}, {true, 10}, {true, 11}, {true, 11}}));
}

TEST(LocalWorldTest, HooksAreSetBeforeTheFirstGroup) {
  LocalWorld world;
  const auto groups = world.make_group(1, "g");
  EXPECT_THROW(world.on_span([](const Span&) {}), BrokenInvariant);
  EXPECT_THROW(world.on_worker_start({}), BrokenInvariant);
}

// A span as the hook saw it, and the thread it was called on.
struct Seen {
  std::string group, operation;
  bool on_worker;
  std::uint64_t bytes;
  double seconds;
  std::thread::id thread;
};

class SpanTest : public testing::Test {
 protected:
  SpanTest() {
    world_.on_span([this](const Span& span) {
      const std::lock_guard lock(mutex_);
      EXPECT_LE(span.begin, span.end);
      const std::chrono::duration<double> took = span.end - span.begin;
      seen_[span.rank].push_back({std::string(span.group), std::string(span.operation),
                                  span.on_worker, span.bytes, took.count(),
                                  std::this_thread::get_id()});
    });
  }
  std::vector<Seen> seen(int rank) {
    const std::lock_guard lock(mutex_);
    return seen_[rank];
  }
  bool has_seen(int rank, const std::string& operation) {
    const auto all = seen(rank);
    return std::ranges::any_of(all, [&](const auto& span) { return span.operation == operation; });
  }

  LocalWorld world_;
  std::mutex mutex_;
  std::map<int, std::vector<Seen>> seen_;
};

TEST_F(SpanTest, BlockingCallsAreSpansOfTheRanksThread) {
  const auto groups = world_.make_group(2, "tp"), alone = world_.make_group(1, "alone");
  on_ranks(2, [&](int rank) {
    std::vector<float> data(10, 1);
    at(groups, rank).all_reduce(data);
    at(groups, rank).broadcast(data, 0);
    if (rank == 0) at(alone, 0).all_reduce(data);
    const auto spans = seen(rank);
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].group, "tp");
    EXPECT_EQ(spans[0].operation, "all_reduce");
    EXPECT_EQ(spans[0].bytes, 40u);
    EXPECT_EQ(spans[1].operation, "broadcast");
    EXPECT_EQ(spans[1].bytes, rank == 0 ? 0u : 40u);
    for (const auto& span : spans) {
      EXPECT_FALSE(span.on_worker);
      EXPECT_EQ(span.thread, std::this_thread::get_id());
    }
  });
}

// Rank 1 comes late until rank 0 was seen to wait; then the spans add up to the traffic's seconds.
TEST_F(SpanTest, AsynchronousCallsAreSpansOfTheWorkerAndWaitsOfTheRank) {
  const auto groups = world_.make_group(2, "dp");
  on_ranks(2, [&](int rank) {
    auto& group = at(groups, rank);
    std::vector<float> waited{0}, data(10, 1);
    while (waited[0] == 0) {
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      auto work = group.all_reduce_async(data);
      if (rank == 0) group.broadcast(waited, 1);  // behind it
      work.wait();
      if (rank == 1) group.broadcast(waited, 1);
      waited[0] = rank == 0 && has_seen(0, "wait broadcast");
      group.all_reduce(waited);
    }
    double seconds = 0, exposed = 0;
    for (const auto& span : seen(rank)) {
      const bool wait = span.operation.starts_with("wait ");
      EXPECT_NE(span.on_worker, span.thread == std::this_thread::get_id());
      EXPECT_TRUE(!wait || (span.bytes == 0 && !span.on_worker));
      if (!wait) seconds += span.seconds;
      if (!span.on_worker) exposed += span.seconds;
    }
    EXPECT_NEAR(group.traffic().seconds, seconds, 1e-9);
    EXPECT_NEAR(group.traffic().exposed_seconds, exposed, 1e-9);
  });
}

TEST(LocalWorldTest, ThrowingRankNamesItsOwnCauseWithOperationsInFlight) {
  LocalWorld world;
  const auto groups = world.make_group(2, "g"), other = world.make_group(2, "other");
  on_ranks(2, [&](int rank) {
    std::vector<float> data(3), more(3);
    if (rank == 1) {
      EXPECT_EQ(message_of([&] { at(other, 1).receive(data, 0); }), "out of memory");
      return;
    }
    try {
      const auto first = at(groups, 0).all_reduce_async(data);
      const auto second = at(groups, 0).broadcast_async(more, 1);
      throw std::runtime_error("out of memory");
    } catch (const std::runtime_error& thrown) {
      EXPECT_FALSE(world.error());
      EXPECT_NE(message_of([&] { at(groups, 0).barrier(); }).find("given up"), std::string::npos);
      world.fail({ErrorKind::internal, thrown.what()});
    }
  });
}

// Rank 1 fails the moment it is through; rank 0, which may still be asleep, has come too.
TEST(LocalWorldTest, OperationToWhichAllHaveComeIsCarriedOut) {
  for (int round = 0; round < 200; ++round) {
    LocalWorld world;
    const auto groups = world.make_group(2, "g");
    on_ranks(2, [&](int rank) {
      EXPECT_NO_THROW(at(groups, rank).barrier());
      if (rank == 1) world.fail({ErrorKind::internal, "cause"});
      EXPECT_EQ(message_of([&] { at(groups, rank).barrier(); }), "cause");
    });
  }
}

TEST(LocalWorldTest, ThrowingRankNamesItsOwnCauseWhenItsGroupsGoToo) {
  LocalWorld world;
  auto groups = world.make_group(2, "g"), others = world.make_group(2, "other");
  on_ranks(2, [&](int rank) {
    if (rank == 1) {
      EXPECT_EQ(message_of([&] { at(others, 1).barrier(); }), "out of memory");
      return;
    }
    std::vector<float> data(3);
    Work outlives;
    try {
      const auto mine = std::move(groups[0]), other = std::move(others[0]);
      outlives = mine->all_reduce_async(data);
      throw std::runtime_error("out of memory");
    } catch (const std::runtime_error& thrown) {
      EXPECT_FALSE(world.error());
      world.fail({ErrorKind::internal, thrown.what()});
    }
    EXPECT_NE(message_of([&] { outlives.wait(); }).find("given up"), std::string::npos);
  });
}

// It leaves before the others come, or (most likely) when they wait already.
TEST(LocalWorldTest, RankThatLeavesIsMissedByThoseWhoWait) {
  for (const bool before : {false, true})
    for (const bool receiving : {false, true}) {
      LocalWorld world;
      auto groups = world.make_group(3, "g");
      if (before) groups[1].reset();
      on_ranks(3, [&](int rank) {
        if (rank == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(before ? 0 : 10));
          return groups[1].reset();
        }
        std::vector<float> data(3);
        const auto message = message_of([&] {
          receiving ? at(groups, rank).receive(data, 1) : at(groups, rank).all_reduce(data);
        });
        EXPECT_NE(message.find("g: rank "), std::string::npos) << message;
        EXPECT_NE(message.find("for rank 1, which has left"), std::string::npos) << message;
      });
    }
}

TEST(LocalWorldTest, RanksMayLeaveWhileOthersStillDo) {
  LocalWorld world;
  auto groups = world.make_group(4, "g");
  on_ranks(4, [&](int rank) {
    std::vector<float> data(3, 1);
    auto work = at(groups, rank).all_reduce_async(data);
    groups.at(static_cast<std::size_t>(rank)).reset();  // carries out what is queued
    EXPECT_TRUE(work.done());
    EXPECT_EQ(data[0], 4);
  });
  EXPECT_FALSE(world.error());
}

TEST(LocalWorldTest, ReceivingInACircleIsFound) {
  LocalWorld world;
  const auto groups = world.make_group(3, "g");
  on_ranks(3, [&](int rank) {
    std::vector<float> data(3);
    const auto message = message_of([&] { at(groups, rank).receive(data, (rank + 1) % 3); });
    EXPECT_NE(message.find("in a circle"), std::string::npos) << message;
  });
}

TEST(LocalWorldTest, ChainOfReceivesBehindACollectiveIsFound) {
  LocalWorld world;
  const auto groups = world.make_group(3, "g");
  on_ranks(3, [&](int rank) {
    std::vector<float> data(3);
    const auto message = message_of([&] {
      rank == 0 ? at(groups, 0).all_reduce(data) : at(groups, rank).receive(data, rank - 1);
    });
    EXPECT_NE(message.find("rank 0 calls all_reduce (sum) of 3 floats, while rank 1 receives"),
              std::string::npos)
        << message;
  });
}

}  // namespace
}  // namespace hairpin::collective
