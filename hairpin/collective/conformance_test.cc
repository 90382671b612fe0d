// What every backend promises of its operations (group.h), held against each one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "hairpin/collective/conformance.h"

namespace hairpin::collective {
namespace {

class Conformance : public BackendTest {};

TEST_P(Conformance, EveryOperationBringsWhatTheOracleSays) {
  run_all_sizes([](Group& group, const FailWorld&) {
    for (const auto& call : sample_calls(group.size())) {
      const auto exercise = Exercise::make(call, group.rank());
      exercise->run(group);
      EXPECT_EQ(exercise->wrong(), "") << name_of(call, group);
    }
  });
}

TEST_P(Conformance, SoDoesItsAsynchronousForm) {
  run_all_sizes([](Group& group, const FailWorld&) {
    for (const auto& call : sample_calls(group.size())) {
      const auto exercise = Exercise::make(call, group.rank());
      exercise->start(group).wait();
      EXPECT_EQ(exercise->wrong(), "") << name_of(call, group);
    }
  });
}

TEST_P(Conformance, TrafficFollowsTheFormulas) {
  run_all_sizes([](Group& group, const FailWorld&) {
    for (const auto& call : sample_calls(group.size())) {
      const auto exercise = Exercise::make(call, group.rank());
      const auto before = group.traffic();
      call.seed % 2 ? exercise->run(group) : exercise->start(group).wait();
      const auto after = group.traffic();
      EXPECT_EQ(after.bytes - before.bytes, exercise->bytes()) << name_of(call, group);
      EXPECT_EQ(after.operations - before.operations, exercise->operations());
      EXPECT_GE(after.seconds, before.seconds);
      EXPECT_GE(after.exposed_seconds, before.exposed_seconds);
    }
  });
}

// The formulas once more as group.h writes them, by hand: 4 ranks, 120 floats, 480 bytes.
TEST_P(Conformance, TrafficOfEvenPieces) {
  run(4, [](Group& group, const FailWorld&) {
    const std::vector<std::int64_t> counts(4, 30);
    const auto moved = [&](Kind kind) {
      const auto exercise = Exercise::make({.kind = kind, .counts = counts}, group.rank());
      const auto before = group.traffic().bytes;
      exercise->run(group);
      return group.traffic().bytes - before;
    };
    EXPECT_EQ(moved(Kind::all_reduce), 720u);
    EXPECT_EQ(moved(Kind::reduce_scatter), 360u);
    EXPECT_EQ(moved(Kind::all_gather), 360u);
    EXPECT_EQ(moved(Kind::broadcast), group.rank() == 0 ? 0u : 480u);
    EXPECT_EQ(moved(Kind::scatter), group.rank() == 0 ? 0u : 120u);
    EXPECT_EQ(moved(Kind::exchange), 360u);
    EXPECT_EQ(moved(Kind::barrier), 0u);
  });
}

TEST_P(Conformance, TimeOfBlockingCallsIsExposed) {
  run(3, [](Group& group, const FailWorld&) {
    for (int i = 0; i < 20; ++i) group.barrier();
    const auto traffic = group.traffic();
    EXPECT_GT(traffic.seconds, 0);
    EXPECT_DOUBLE_EQ(traffic.exposed_seconds, traffic.seconds);
  });
}

// A rank that works on until its operation has ended never stood still for it.
TEST_P(Conformance, TimeOfAsynchronousCallsIsExposedOnlyWhereTheRankWaits) {
  run(2, [](Group& group, const FailWorld&) {
    std::vector<float> data(100, 1);
    group.barrier();
    const auto before = group.traffic();
    if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    auto work = group.all_reduce_async(data);
    while (!work.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    work.wait();
    const auto after = group.traffic();
    EXPECT_EQ(after.exposed_seconds, before.exposed_seconds);
    EXPECT_GT(after.seconds, before.seconds);
  });
}

// A sum whose bits differ in every other order: 1 + 2^-24 + 2^-24 is 1, but from the right it
// isn't.
TEST_P(Conformance, ReductionsAddInRankOrder) {
  run(3, [](Group& group, const FailWorld&) {
    const std::vector<float> mine{group.rank() == 0 ? 1.0F : 0x1p-24F,
                                  group.rank() == 2 ? 1.0F : 0x1p-24F};
    for (int round = 0; round < 20; ++round) {
      auto data = mine;
      group.all_reduce(data);
      EXPECT_EQ(data[0], 1.0F);
      EXPECT_EQ(data[1], 1.0F + 0x1p-23F);
    }
  });
}

TEST_P(Conformance, NanOfAnyRankReachesAll) {
  run_all_sizes([](Group& group, const FailWorld&) {
    for (int from = 0; from < group.size(); ++from)
      for (const auto reduction : {Reduction::sum, Reduction::max}) {
        std::vector<float> data(9, static_cast<float>(group.rank()));
        std::vector<double> wide(9, 1);
        if (group.rank() == from) data[7] = std::numeric_limits<float>::quiet_NaN();
        if (group.rank() == from) wide[2] = std::numeric_limits<double>::quiet_NaN();
        group.all_reduce(data, reduction);
        group.all_reduce(wide, reduction);
        EXPECT_TRUE(std::isnan(data[7]));
        EXPECT_TRUE(std::isnan(wide[2]));
        EXPECT_FALSE(std::isnan(data[6]));
        EXPECT_FALSE(std::isnan(wide[3]));
      }
  });
}

TEST_P(Conformance, MaxOfNegativesAndInfinities) {
  run(3, [](Group& group, const FailWorld&) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    std::vector<float> data{-3.0F - static_cast<float>(group.rank()),
                            group.rank() == 1 ? kInf : 0.0F, -kInf};
    group.all_reduce(data, Reduction::max);
    EXPECT_EQ(data, (std::vector{-3.0F, kInf, -kInf}));
  });
}

TEST_P(Conformance, AsynchronousCallsRunInOrder) {
  run_all_sizes([](Group& group, const FailWorld&) {
    std::vector<float> data(33, 1);
    std::vector<Work> works;
    for (int i = 0; i < 6; ++i) works.push_back(group.all_reduce_async(data));
    group.barrier();  // behind them all
    for (const auto& work : works) EXPECT_TRUE(work.done());
    EXPECT_EQ(data[32], std::pow(static_cast<float>(group.size()), 6.0F));
  });
}

TEST_P(Conformance, WorkMayBeDroppedMovedAndWaitedForTwice) {
  run_all_sizes([](Group& group, const FailWorld&) {
    const auto n = static_cast<float>(group.size());
    std::vector<float> a(5, 1), b(5, 1), c(5, 1);
    {
      const auto dropped = group.all_reduce_async(a);
    }
    EXPECT_EQ(a[4], n);
    auto work = group.all_reduce_async(b);
    work = group.all_reduce_async(c);  // waits for the one it replaces
    EXPECT_EQ(b[4], n);
    Work moved = std::move(work);
    moved.wait();
    EXPECT_EQ(c[4], n);
    moved.wait();
    EXPECT_TRUE(moved.done());
    EXPECT_TRUE(Work().done());
    Work().wait();
  });
}

TEST_P(Conformance, MessagesOfAPairKeepTheirOrder) {
  run(3, [](Group& group, const FailWorld&) {
    constexpr int kMessages = 20;
    for (int to = 0; to < 3; ++to)
      for (int i = 0; i < kMessages && to != group.rank(); ++i)
        group.send(std::vector<float>(static_cast<std::size_t>(i), static_cast<float>(i)), to);
    for (int from = 2; from >= 0; --from)
      for (int i = 0; i < kMessages && from != group.rank(); ++i) {
        std::vector<float> got(static_cast<std::size_t>(i), -1);
        group.receive(got, from);
        EXPECT_EQ(got, std::vector<float>(static_cast<std::size_t>(i), static_cast<float>(i)));
      }
  });
}

TEST_P(Conformance, BarrierWaitsForAll) {
  run_all_sizes([](Group& group, const FailWorld&) {
    if (!group.shares_memory()) return;
    std::shared_ptr<std::atomic<int>> own;
    if (group.rank() == 0) own = std::make_shared<std::atomic<int>>(0);
    const auto counter =
        std::static_pointer_cast<const std::atomic<int>>(group.exchange(own, 4).at(0));
    auto& count = const_cast<std::atomic<int>&>(*counter);
    std::minstd_rand random(static_cast<unsigned>(group.rank()) + 1);
    for (int round = 1; round <= 50; ++round) {
      dawdle(random);
      ++count;
      group.barrier();
      EXPECT_GE(count, round * group.size());
      EXPECT_LE(count, (round + 1) * group.size());
    }
  });
}

TEST_P(Conformance, ExchangedObjectsDieWithTheirLastReader) {
  run_all_sizes([](Group& group, const FailWorld&) {
    std::weak_ptr<int> own;
    for (int round = 0; round < 10; ++round) {
      auto object = std::make_shared<int>(round * 10 + group.rank());
      own = object;
      const auto all = group.exchange(std::move(object), 4);
      EXPECT_EQ(all.size(), static_cast<std::size_t>(group.size()));
      for (int r = 0; r < group.size() && group.shares_memory(); ++r)
        EXPECT_EQ(*static_cast<const int*>(all.at(static_cast<std::size_t>(r)).get()),
                  round * 10 + r);
    }
    group.barrier();
    group.barrier();
    EXPECT_TRUE(own.expired());
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(all_backends()), name_of_backend);

}  // namespace
}  // namespace hairpin::collective
