// What every backend promises when a rank fails or calls don't fit together (group.h).
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hairpin/collective/conformance.h"

namespace hairpin::collective {
namespace {

class FailureConformance : public BackendTest {};

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

TEST_P(FailureConformance, AFailingRankEndsAllWaitsWithItsError) {
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
          EXPECT_EQ(message_of([&] { group.send({}, (group.rank() + 1) % kSize); }),
                    "the first cause");
          try {
            group.barrier();
          } catch (const Aborted& aborted) {
            EXPECT_EQ(aborted.error().kind, ErrorKind::link_lost);
          }
        });
}

TEST_P(FailureConformance, AFailureReachesEverythingInFlight) {
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

using Ask = std::function<void(Group&)>;
using Pieces = std::vector<std::int64_t>;

std::vector<float> floats(std::int64_t n) {
  return std::vector<float>(static_cast<std::size_t>(n));
}

Ask reduce(std::int64_t n, Reduction how) {
  return [=](Group& group) {
    auto data = floats(n);
    group.all_reduce(data, how);
  };
}
Ask broadcast(std::int64_t n, int root) {
  return [=](Group& group) {
    auto data = floats(n);
    group.broadcast(data, root);
  };
}
// Buffers of 9 in all, pieces of `own` elements; 0: as `counts` says.
std::int64_t piece_of(const Group& group, const Pieces& counts, std::int64_t own) {
  return own != 0 ? own : counts.at(static_cast<std::size_t>(group.rank()));
}
Ask reduce_scatter(Pieces counts, std::int64_t own = 0) {
  return [=](Group& group) {
    auto whole = floats(9), piece = floats(piece_of(group, counts, own));
    group.reduce_scatter(whole, piece, counts);
  };
}
Ask all_gather(Pieces counts, std::int64_t own = 0) {
  return [=](Group& group) {
    auto whole = floats(9), piece = floats(piece_of(group, counts, own));
    group.all_gather(std::span<const float>(piece), whole, counts);
  };
}
Ask scatter(Pieces counts, int root, std::int64_t whole_size = 9) {
  return [=](Group& group) {
    auto whole = floats(whole_size), piece = floats(piece_of(group, counts, 0));
    group.scatter(whole, piece, counts, root);
  };
}
Ask all_to_all(Pieces in_counts, Pieces out_counts) {
  return [=](Group& group) {
    auto in = floats(9), out = floats(9);
    group.all_to_all(in, in_counts, out, out_counts);
  };
}
Ask one_message(std::int64_t sent, std::int64_t received) {
  return [=](Group& group) {
    auto data = floats(group.rank() == 0 ? sent : received);
    if (group.rank() == 0) group.send(data, 1);
    if (group.rank() == 1) group.receive(data, 0);
    group.barrier();
  };
}
void barrier(Group& group) { group.barrier(); }
void reduce_doubles(Group& group) {
  std::vector<double> data(5);
  group.all_reduce(data);
}
void gather_doubles(Group& group) {
  std::vector<double> own(3), whole(9);
  group.all_gather(std::span<const double>(own), whole, Pieces{3, 3, 3});
}

// Ranks 0 and 2 make the first call, rank 1 the second; all hear of it, with these words.
struct Misfit {
  Ask most, odd;
  std::vector<std::string> words;
};

std::vector<Misfit> calls_that_disagree() {
  constexpr auto kSum = Reduction::sum;
  const Pieces even{3, 3, 3}, other{2, 3, 4};
  return {
      {reduce(5, kSum), reduce(4, kSum), {"5 floats", "4 floats"}},
      {reduce(5, kSum), reduce(5, Reduction::max), {"(sum)", "(max)"}},
      {reduce(5, kSum), reduce_doubles, {"5 floats", "5 doubles"}},
      {reduce(5, kSum), barrier, {"all_reduce", "barrier"}},
      {barrier, broadcast(3, 0), {"barrier", "broadcast of 3 floats"}},
      {broadcast(3, 0), broadcast(3, 1), {"from rank 0", "from rank 1"}},
      {broadcast(3, 0), broadcast(7, 0), {"of 3 floats", "of 7 floats"}},
      {reduce_scatter(even), reduce_scatter(other), {"[3, 3, 3]", "[2, 3, 4]"}},
      {all_gather(even), all_gather(other), {"[3, 3, 3]", "[2, 3, 4]"}},
      {all_gather(even), gather_doubles, {"[3, 3, 3] floats", "[3, 3, 3] doubles"}},
      {scatter(even, 0), scatter(other, 0), {"[3, 3, 3]", "[2, 3, 4]"}},
      {scatter(even, 0), scatter(even, 2), {"from rank 0", "from rank 2"}},
      {all_to_all(even, even),
       all_to_all({4, 3, 2}, even),
       {"gives 4 elements from rank 1 to rank 0, which takes 3"}},
      {one_message(3, 3), one_message(3, 4), {"receive of 4 floats", "sent 3"}},
      {barrier,
       [](Group& group) { group.receive({}, 0); },
       {"rank 0 calls barrier", "rank 1 receives"}},
  };
}

// On rank 1 alone, arguments that don't fit one another.
std::vector<Misfit> calls_with_wrong_arguments() {
  const Pieces even{3, 3, 3};
  return {
      {reduce_scatter(even), reduce_scatter({3, 3, 4}), {"sum to 10", "buffer of 9"}},
      {reduce_scatter(even), reduce_scatter({5, 4}), {"2 counts on 3 ranks"}},
      {reduce_scatter(even), reduce_scatter(even, 2), {"own piece has 3", "buffer of 2"}},
      {all_gather(even), all_gather({3, 3, 4}), {"sum to 10", "buffer of 9"}},
      {all_gather(even), all_gather(even, 4), {"own piece has 3", "buffer of 4"}},
      {scatter(even, 1), scatter(even, 1, 8), {"sum to 9", "buffer of 8"}},
      {all_to_all(even, even), all_to_all({12, 3, -6}, even), {"negative count"}},
      {all_to_all(even, even), all_to_all(even, {3, 3, 2}), {"sum to 8", "buffer of 9"}},
      {barrier, broadcast(3, 3), {"from rank 3", "group of 3"}},
      {barrier, broadcast(3, -1), {"from rank -1", "group of 3"}},
      {barrier, [](Group& group) { group.send({}, 1); }, {"to rank 1", "itself"}},
  };
}

void expect_all_to_hear(Group& group, const Misfit& misfit) {
  const auto message = message_of([&] {
    group.rank() == 1 ? misfit.odd(group) : misfit.most(group);
    group.barrier();
  });
  EXPECT_NE(message.find("test group"), std::string::npos) << message;
  for (const auto& word : misfit.words) EXPECT_NE(message.find(word), std::string::npos) << message;
}

TEST_P(FailureConformance, CallsThatDisagreeFailOnAllRanks) {
  for (const auto& misfit : calls_that_disagree())
    run(3, [&](Group& group, const FailWorld&) { expect_all_to_hear(group, misfit); });
}

TEST_P(FailureConformance, CallsWithWrongArgumentsFailOnAllRanks) {
  for (const auto& misfit : calls_with_wrong_arguments())
    run(3, [&](Group& group, const FailWorld&) { expect_all_to_hear(group, misfit); });
}

// The call itself throws, not the wait for it.
TEST_P(FailureConformance, AsynchronousCallsWithWrongArgumentsFailWhereTheyAreMade) {
  run(2, [](Group& group, const FailWorld&) {
    if (group.rank() == 1) return (void)message_of([&] { group.barrier(); });
    std::vector<float> data(3);
    const auto message = message_of([&] {
      auto work = group.broadcast_async(data, 2);
      ADD_FAILURE() << "queued";
      work.wait();
    });
    EXPECT_NE(message.find("from rank 2"), std::string::npos) << message;
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, FailureConformance, testing::ValuesIn(all_backends()),
                         name_of_backend);

}  // namespace
}  // namespace hairpin::collective
