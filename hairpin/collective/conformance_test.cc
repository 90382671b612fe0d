// What every backend promises (group.h), held against each one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "hairpin/collective/test_backends.h"
#include "hairpin/collective/test_exercise.h"

namespace hairpin::collective {
namespace {

constexpr int kLargest = 5;

class Conformance : public testing::TestWithParam<Backend> {
 protected:
  static void run(int size, const RankBody& body) { GetParam().run(size, body); }
  static void run_all_sizes(const RankBody& body) {
    for (int size = 1; size <= kLargest; ++size) run(size, body);
  }
};

std::string name_of(const Call& call, const Group& group) {
  std::ostringstream text;
  text << call << ", rank " << group.rank() << " of " << group.size();
  return text.str();
}

// Nothing, a yield or a nap, to mix up who comes first.
void dawdle(std::minstd_rand& random) {
  const auto draw = random() % 8;
  if (draw < 3) std::this_thread::yield();
  if (draw == 3) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

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

// Failure.

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Aborted& aborted) {
    EXPECT_EQ(aborted.error().message, aborted.what());
    return aborted.what();
  }
  return "nothing was thrown";
}

std::vector<Call> calls_that_wait(int size) {
  std::vector<Call> calls;
  for (const auto kind :
       {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast, Kind::scatter,
        Kind::all_to_all, Kind::send, Kind::barrier, Kind::exchange})
    calls.push_back({.kind = kind,
                     .root = 1,
                     .counts = std::vector<std::int64_t>(static_cast<std::size_t>(size), 3)});
  return calls;
}

TEST_P(Conformance, AFailingRankEndsAllWaitsWithItsError) {
  constexpr int kSize = 3;
  for (const auto& call : calls_that_wait(kSize))
    for (int failing = 0; failing < kSize; ++failing)
      for (const bool async : {false, true})
        run(kSize, [&](Group& group, const FailWorld& fail) {
          const auto exercise = Exercise::make(call, group.rank());
          if (group.rank() == failing) {
            if (failing % 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            fail({ErrorKind::link_lost, "the first cause"});
          } else {
            // In a round of sends, the rank after the failing one waits; the other may get by.
            const bool may_pass = call.kind == Kind::send;
            const auto step = [&] {
              async ? exercise->start(group).wait() : exercise->run(group);
              if (may_pass) group.barrier();
            };
            EXPECT_EQ(message_of(step), "the first cause") << name_of(call, group);
            fail({ErrorKind::internal, "a later cause"});
          }
          const auto after = Exercise::make(call, group.rank());
          EXPECT_EQ(message_of([&] { after->run(group); }), "the first cause");
          try {
            group.barrier();
          } catch (const Aborted& aborted) {
            EXPECT_EQ(aborted.error().kind, ErrorKind::link_lost);
          }
        });
}

TEST_P(Conformance, AFailureReachesEverythingInFlight) {
  run(3, [](Group& group, const FailWorld& fail) {
    std::vector<float> data(7, 1), more(7, 1);
    group.all_reduce(data);
    if (group.rank() == 2) return fail({ErrorKind::internal, "rank 2 is out"});
    auto first = group.all_reduce_async(data);
    auto second = group.broadcast_async(more, 2);
    auto dropped = group.all_reduce_async(data);
    EXPECT_EQ(message_of([&] { group.barrier(); }), "rank 2 is out");
    EXPECT_EQ(message_of([&] { first.wait(); }), "rank 2 is out");
    EXPECT_EQ(message_of([&] { second.wait(); }), "rank 2 is out");
  });
}

// Ranks 0 and 2 make the first call, rank 1 the second; all hear of it, with both calls named.
struct Misfit {
  std::function<void(Group&)> most, odd;
  std::vector<std::string> named;
};

std::vector<Misfit> misfits() {
  const auto floats = [](std::size_t n) { return std::vector<float>(n, 1); };
  using C = std::vector<std::int64_t>;
  const auto reduce = [=](std::size_t n, Reduction how) {
    return [=](Group& g) {
      auto x = floats(n);
      g.all_reduce(x, how);
    };
  };
  const auto barrier = [](Group& g) { g.barrier(); };
  const auto broadcast = [=](std::size_t n, int root) {
    return [=](Group& g) {
      auto x = floats(n);
      g.broadcast(x, root);
    };
  };
  const auto reduce_scatter = [=](C counts) {
    return [=](Group& g) {
      auto whole = floats(9);
      auto own = floats(static_cast<std::size_t>(counts.at(static_cast<std::size_t>(g.rank()))));
      g.reduce_scatter(whole, own, counts);
    };
  };
  const auto all_gather = [=](C counts) {
    return [=](Group& g) {
      auto whole = floats(9);
      const auto own =
          floats(static_cast<std::size_t>(counts.at(static_cast<std::size_t>(g.rank()))));
      g.all_gather(own, whole, counts);
    };
  };
  const auto scatter = [=](C counts, int root) {
    return [=](Group& g) {
      const auto whole = floats(9);
      auto own = floats(static_cast<std::size_t>(counts.at(static_cast<std::size_t>(g.rank()))));
      g.scatter(whole, own, counts, root);
    };
  };
  const auto all_to_all = [=](C in_counts, C out_counts) {
    return [=](Group& g) {
      const auto in = floats(9);
      auto out = floats(9);
      g.all_to_all(in, in_counts, out, out_counts);
    };
  };
  const auto doubles = [](Group& g) {
    std::vector<double> x(5);
    g.all_reduce(x);
  };
  const auto send_receive = [=](std::size_t sent, std::size_t received) {
    return [=](Group& g) {
      auto x = floats(received);
      if (g.rank() == 0) g.send(floats(sent), 1);
      if (g.rank() == 1) g.receive(x, 0);
      g.barrier();
    };
  };
  return {
      {reduce(5, Reduction::sum), reduce(4, Reduction::sum), {"5 floats", "4 floats"}},
      {reduce(5, Reduction::sum), reduce(5, Reduction::max), {"(sum)", "(max)"}},
      {reduce(5, Reduction::sum), doubles, {"5 floats", "5 doubles"}},
      {reduce(5, Reduction::sum), barrier, {"all_reduce", "barrier"}},
      {barrier, broadcast(3, 0), {"barrier", "broadcast of 3 floats"}},
      {broadcast(3, 0), broadcast(3, 1), {"from rank 0", "from rank 1"}},
      {broadcast(3, 0), broadcast(7, 0), {"of 3 floats", "of 7 floats"}},
      {reduce_scatter({3, 3, 3}), reduce_scatter({2, 3, 4}), {"[3, 3, 3]", "[2, 3, 4]"}},
      {all_gather({3, 3, 3}), all_gather({2, 3, 4}), {"[3, 3, 3]", "[2, 3, 4]"}},
      {scatter({3, 3, 3}, 0), scatter({2, 3, 4}, 0), {"[3, 3, 3]", "[2, 3, 4]"}},
      {scatter({3, 3, 3}, 0), scatter({3, 3, 3}, 2), {"from rank 0", "from rank 2"}},
      {all_to_all({3, 3, 3}, {3, 3, 3}),
       all_to_all({4, 3, 2}, {3, 3, 3}),
       {"gives 4 elements from rank 1 to rank 0, which takes 3"}},
      {send_receive(3, 3), send_receive(3, 4), {"receive of 4 floats", "sent 3"}},
      // On the odd rank alone, arguments that don't fit one another.
      {reduce_scatter({3, 3, 3}), reduce_scatter({3, 3, 4}), {"sum to 10", "buffer of 9"}},
      {reduce_scatter({3, 3, 3}), reduce_scatter({5, 4}), {"2 counts on 3 ranks"}},
      {barrier, broadcast(3, 3), {"from rank 3", "group of 3"}},
      {barrier, [](Group& g) { g.send({}, 1); }, {"to rank 1", "itself"}},
      {all_to_all({3, 3, 3}, {3, 3, 3}), all_to_all({12, 3, -6}, {3, 3, 3}), {"negative count"}},
      // A wait that could not end.
      {barrier, [](Group& g) { g.receive({}, 0); }, {"rank 0 calls barrier", "rank 1 receives"}},
  };
}

TEST_P(Conformance, CallsThatDoNotFitTogetherFailOnAllRanks) {
  for (const auto& misfit : misfits())
    run(3, [&](Group& group, const FailWorld&) {
      const auto message = message_of([&] {
        group.rank() == 1 ? misfit.odd(group) : misfit.most(group);
        group.barrier();
      });
      EXPECT_NE(message.find("test group"), std::string::npos) << message;
      for (const auto& name : misfit.named)
        EXPECT_NE(message.find(name), std::string::npos) << message;
    });
}

// Random programs.

struct Step {
  Call call;
  bool async = false;
  bool wait_at_once = false;
};

Step any_step(int size, std::uint64_t seed) {
  const auto any_bool = rc::gen::arbitrary<bool>();
  Step step;
  step.call.kind =
      *rc::gen::element(Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast,
                        Kind::scatter, Kind::all_to_all, Kind::send, Kind::barrier, Kind::exchange);
  const bool has_double = step.call.kind == Kind::all_reduce || step.call.kind == Kind::all_gather;
  if (has_double && *any_bool) step.call.element = Element::f64;
  if (step.call.kind == Kind::all_reduce && *any_bool) step.call.reduction = Reduction::max;
  step.call.root = *rc::gen::inRange(0, size);
  step.call.in_place = *any_bool;
  step.call.counts = *rc::gen::container<std::vector<std::int64_t>>(
      static_cast<std::size_t>(size), rc::gen::inRange<std::int64_t>(0, 40));
  step.call.seed = seed;
  step.async = *any_bool;
  step.wait_at_once = *rc::gen::inRange(0, 4) == 0;
  return step;
}

// What went wrong on this rank, or empty. All buffers live until all operations have ended.
std::string follow(const std::vector<Step>& program, std::uint64_t seed, Group& group) {
  std::minstd_rand random(static_cast<unsigned>(seed) * 17 + static_cast<unsigned>(group.rank()));
  std::vector<std::unique_ptr<Exercise>> exercises;
  std::vector<Work> works;
  std::uint64_t bytes = 0;
  for (const auto& step : program) {
    exercises.push_back(Exercise::make(step.call, group.rank()));
    bytes += exercises.back()->bytes();
    dawdle(random);
    if (step.async)
      works.push_back(exercises.back()->start(group));
    else
      exercises.back()->run(group);
    if (step.wait_at_once && !works.empty()) works[random() % works.size()].wait();
  }
  std::shuffle(works.begin(), works.end(), random);
  for (auto& work : works) work.wait();
  for (std::size_t i = 0; i < program.size(); ++i)
    if (const auto wrong = exercises[i]->wrong(); !wrong.empty())
      return name_of(program[i].call, group) + ": " + wrong;
  if (group.traffic().bytes != bytes) return "bytes moved are not the sum of the formulas";
  return {};
}

TEST_P(Conformance, RandomProgramsUnderRandomDelays) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(1, kLargest + 1);
    const auto length = *rc::gen::inRange<std::size_t>(1, 12);
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    std::vector<Step> program;
    for (std::size_t i = 0; i < length; ++i) program.push_back(any_step(size, seed + i));
    std::mutex mutex;
    std::string wrong;
    run(size, [&](Group& group, const FailWorld&) {
      const auto mine = follow(program, seed, group);
      const std::lock_guard lock(mutex);
      if (!mine.empty()) wrong = mine;
    });
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

// A failure at any point of a program ends it on all ranks: whatever was thrown names the cause.
TEST_P(Conformance, RandomProgramsThatFailSomewhere) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(2, kLargest + 1);
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    const int failing = *rc::gen::inRange(0, size);
    std::vector<Step> program;
    for (std::uint64_t i = 0; i < 8; ++i) program.push_back(any_step(size, seed + i));
    const auto passed = *rc::gen::inRange<std::size_t>(0, program.size());
    std::atomic<int> right = 0;
    run(size, [&](Group& group, const FailWorld& fail) {
      auto part = program;
      if (group.rank() == failing) part.resize(passed);
      const auto message = message_of([&] {
        follow(part, seed, group);
        if (group.rank() == failing) fail({ErrorKind::internal, "it ends here"});
        group.barrier();
      });
      if (message == "it ends here") ++right;
    });
    RC_ASSERT(right == size);
  }));
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(all_backends()),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace hairpin::collective
