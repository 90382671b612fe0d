// Replicas as threads, against sums in replica order and a single rank's updates.
#include "hairpin/parallel/data_parallel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/collective/local.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

using collective::Group;
using collective::LocalWorld;

// Of 3, 1 and 15 units of 16 elements: no number of replicas from 2 on divides them all.
std::vector<std::unique_ptr<nn::Bucket>> make_buckets() {
  const std::vector<std::vector<nn::ParameterSpec>> specs = {
      {{"a", {5, 7}, {}}}, {{"b", {3}, {}}}, {{"c", {13, 17}, {}}, {"d", {2}, {}}}};
  std::vector<std::unique_ptr<nn::Bucket>> buckets;
  for (const auto& each : specs) buckets.push_back(std::make_unique<nn::Bucket>(each));
  return buckets;
}
constexpr std::int64_t kUnits[] = {3, 1, 15};
constexpr std::int64_t kElements = 16 * (3 + 1 + 15);

using Buckets = std::vector<nn::Bucket*>;

// Runs `body` on each replica of a new group, each on a thread and with buckets of its own.
// Returns what each has thrown, as text; the first failure ends the others.
using Body = std::function<void(Group& group, const Buckets& buckets)>;
std::vector<std::string> run_replicas(LocalWorld& world, int size, const Body& body) {
  const auto groups = world.make_group(size, "test group");
  std::vector<std::string> thrown(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    threads.emplace_back([&, rank] {
      const auto buckets = make_buckets();
      Buckets pointers;
      for (const auto& bucket : buckets) pointers.push_back(bucket.get());
      try {
        body(*groups[rank], pointers);
      } catch (const std::exception& error) {
        thrown[rank] = error.what();
        world.fail({ErrorKind::internal, fmt::format("rank {}: {}", rank, error.what())});
      }
    });
  for (auto& thread : threads) thread.join();
  return thrown;
}

void expect_all_done(const std::vector<std::string>& thrown) {
  for (const auto& error : thrown) EXPECT_EQ(error, "");
}

// Of magnitudes so different that the order of a sum over three or more shows.
float made_up_gradient(int rank, int step, std::size_t bucket, std::int64_t element) {
  const auto x = static_cast<double>(element + 1) * 0.7 + static_cast<double>(bucket) + step * 1.9;
  return static_cast<float>(std::sin(x + rank * 2.3) * std::pow(10.0, (element + rank) % 5));
}

void make_gradients(nn::Bucket& bucket, int rank, int step, std::size_t index) {
  for (auto& parameter : bucket.parameters()) {
    const auto gradient = fp32_span(parameter.gradient);
    const auto offset = parameter.gradient.storage_offset();
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = made_up_gradient(rank, step, index, offset + static_cast<std::int64_t>(i));
    parameter.has_gradient = true;
  }
}

// The oracle: values of one rank that adds all replicas' gradients in order.
class Reference {
 public:
  explicit Reference(int ranks) : ranks_(ranks), buckets_(make_buckets()) {}

  void step(int step) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      auto& bucket = *buckets_[i];
      make_gradients(bucket, 0, step, i);
      for (int rank = 1; rank < ranks_; ++rank) {
        const auto other = make_buckets();
        make_gradients(*other[i], rank, step, i);
        bucket.gradients().add_(other[i]->gradients());
      }
      update(bucket, {0, bucket.values().numel()});
    }
  }
  static void update(nn::Bucket& bucket, mesh::Range owned) {
    bucket.values()
        .narrow(0, owned.begin, owned.count)
        .sub_(bucket.gradients().narrow(0, owned.begin, owned.count), 1e-3);
  }
  const nn::Bucket& operator[](std::size_t i) const { return *buckets_[i]; }

 private:
  const int ranks_;
  std::vector<std::unique_ptr<nn::Bucket>> buckets_;
};

TEST(DataParallelReference, TheOrderOfTheSumShows) {
  const auto sum = [](std::initializer_list<int> ranks) {
    Tensor total;
    for (const int rank : ranks) {
      const auto buckets = make_buckets();
      make_gradients(*buckets[2], rank, 0, 2);
      total = total.defined() ? total + buckets[2]->gradients() : buckets[2]->gradients();
    }
    return total;
  };
  EXPECT_FALSE(sum({0, 1, 2}).equal(sum({1, 2, 0})));
  EXPECT_FALSE(sum({0, 1, 2, 3}).equal(sum({3, 2, 1, 0})));
}

struct Case {
  int ranks;
  DataParallelOptions options;
};
std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.ranks << " ranks";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const int zero : {0, 1})
      for (const bool reduce : {false, true})
        for (const bool gather : {false, true}) cases.push_back({ranks, {zero, reduce, gather}});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& test) {
  const auto& [ranks, options] = test.param;
  return fmt::format("n{}_zero{}_reduce{}_gather{}", ranks, options.zero,
                     options.overlap_grad_reduce ? "On" : "Off",
                     options.overlap_param_gather ? "On" : "Off");
}

class DataParallels : public testing::TestWithParam<Case> {};

// Steps as a trainer makes them; the first bucket's gradients are left to finish_gradients.
TEST_P(DataParallels, TrainAsOneRankDoes) {
  const auto [ranks, options] = GetParam();
  constexpr int kSteps = 3;
  LocalWorld world;
  expect_all_done(run_replicas(world, ranks, [&](Group& group, const Buckets& buckets) {
    Reference reference(ranks);
    DataParallel replicas(&group, buckets, options);
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < buckets.size(); ++i) {
        replicas.before_use(*buckets[i]);
        EXPECT_TRUE(buckets[i]->values().equal(reference[i].values())) << step << ", " << i;
        buckets[i]->begin_step();
      }
      for (std::size_t i = buckets.size(); i-- > 0;) {
        make_gradients(*buckets[i], group.rank(), step, i);
        if (i > 0) replicas.gradients_ready(*buckets[i]);
      }
      replicas.finish_gradients();
      reference.step(step);
      for (std::size_t i = 0; i < buckets.size(); ++i) {
        const auto [begin, count] = replicas.owned(*buckets[i]);
        EXPECT_TRUE(buckets[i]
                        ->gradients()
                        .narrow(0, begin, count)
                        .equal(reference[i].gradients().narrow(0, begin, count)))
            << step << ", " << i;
        Reference::update(*buckets[i], {begin, count});
      }
      replicas.parameters_updated();
    }
    replicas.finish_parameters();
    for (std::size_t i = 0; i < buckets.size(); ++i)
      EXPECT_TRUE(buckets[i]->values().equal(reference[i].values())) << i;
  }));
}

// 2 (n - 1) / n times the parameters' bytes, on average over the n ranks, whatever ZeRO and however
// uneven the shares.
TEST_P(DataParallels, MoveWhatTheFormulaSays) {
  const auto [ranks, options] = GetParam();
  std::mutex mutex;
  std::uint64_t moved = 0;
  LocalWorld world;
  expect_all_done(run_replicas(world, ranks, [&](Group& group, const Buckets& buckets) {
    DataParallel replicas(&group, buckets, options);
    std::int64_t owned = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      make_gradients(*buckets[i], group.rank(), 0, i);
      owned += replicas.owned(*buckets[i]).count;
    }
    replicas.finish_gradients();
    replicas.parameters_updated();
    replicas.finish_parameters();
    const auto bytes = group.traffic().bytes;
    if (options.zero == 1) {
      const auto reduced = (ranks - 1) * owned, gathered = kElements - owned;
      EXPECT_EQ(bytes, 4 * static_cast<std::uint64_t>(reduced + gathered));
    }
    const std::lock_guard lock(mutex);
    moved += bytes;
  }));
  EXPECT_EQ(moved, static_cast<std::uint64_t>(2 * (ranks - 1) * kElements * 4));
}

TEST_P(DataParallels, OwnSharesInUnitsOf16Elements) {
  const auto [ranks, options] = GetParam();
  LocalWorld world;
  expect_all_done(run_replicas(world, ranks, [&](Group& group, const Buckets& buckets) {
    const DataParallel replicas(&group, buckets, options);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const auto share = options.zero == 0 ? mesh::Range{0, kUnits[i]}
                                           : mesh::share(kUnits[i], ranks, group.rank());
      EXPECT_EQ(replicas.owned(*buckets[i]), (mesh::Range{share.begin * 16, share.count * 16}));
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Layouts, DataParallels, testing::ValuesIn(all_cases()), case_name);

// Waits for what must come without anyone's help.
bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// What runs on its own while the rank goes on, and in which order.
class DataParallelOverlap : public testing::TestWithParam<bool> {};

TEST_P(DataParallelOverlap, RunsBehindTheRanksBack) {
  const bool overlap = GetParam();
  constexpr int kRanks = 2;
  std::mutex mutex;
  std::vector<std::string> seen;  // by rank 0
  LocalWorld world;
  world.on_span([&](const collective::Span& span) {
    if (!span.on_worker || span.rank != 0) return;
    const std::lock_guard lock(mutex);
    seen.push_back(fmt::format("{} {}", span.operation, span.bytes / 64));
  });
  expect_all_done(run_replicas(world, kRanks, [&](Group& group, const Buckets& buckets) {
    DataParallel replicas(&group, buckets, {1, overlap, overlap});
    const auto done = [&] { return group.traffic().operations; };
    for (std::size_t i = buckets.size(); i-- > 0;) {
      make_gradients(*buckets[i], group.rank(), 0, i);
      replicas.gradients_ready(*buckets[i]);
    }
    if (overlap) {
      EXPECT_TRUE(comes_true([&] { return done() == 3; }));
    } else {
      EXPECT_EQ(done(), 0U);
    }
    replicas.finish_gradients();
    replicas.parameters_updated();
    if (overlap) {
      EXPECT_TRUE(comes_true([&] { return done() == 6; }));
    } else {
      EXPECT_EQ(done(), 6U);
    }
    replicas.finish_parameters();
    EXPECT_EQ(done(), 6U);
  }));
  // Bytes in units: 2 of 3, 1 of 1 and 8 of 15 are rank 0's.
  const std::vector<std::string> reduced =
      overlap
          ? std::vector<std::string>{"reduce_scatter 8", "reduce_scatter 1", "reduce_scatter 2"}
          : std::vector<std::string>{"reduce_scatter 2", "reduce_scatter 1", "reduce_scatter 8"};
  std::vector<std::string> expected = reduced;
  for (const char* gathered : {"all_gather 1", "all_gather 0", "all_gather 7"})
    expected.emplace_back(gathered);
  EXPECT_EQ(seen, expected);
}

INSTANTIATE_TEST_SUITE_P(OnAndOff, DataParallelOverlap, testing::Bool());

// A rank that fails between its calls ends the others wherever they wait.
TEST(DataParallel, AFailureEndsAllReplicas) {
  for (const auto& options : {DataParallelOptions{0, true, true},
                              {0, false, true},
                              {1, true, true},
                              {1, false, false},
                              {1, true, false}})
    for (const bool in_gradients : {true, false}) {
      if (!in_gradients && options.zero == 0) continue;  // nothing is gathered
      LocalWorld world;
      const auto thrown = run_replicas(world, 3, [&](Group& group, const Buckets& buckets) {
        DataParallel replicas(&group, buckets, options);
        for (std::size_t i = 0; i < 3; ++i) make_gradients(*buckets[i], group.rank(), 0, i);
        replicas.gradients_ready(*buckets[2]);
        if (in_gradients && group.rank() == 1) throw std::runtime_error("out of paper");
        replicas.finish_gradients();
        if (group.rank() == 1) throw std::runtime_error("out of paper");
        replicas.parameters_updated();
        replicas.before_use(*buckets[0]);
        ADD_FAILURE() << "went on without a rank";
      });
      EXPECT_EQ(thrown, (std::vector<std::string>{"rank 1: out of paper", "out of paper",
                                                  "rank 1: out of paper"}));
    }
}

TEST(DataParallel, WithoutAGroupThereIsNothingToWaitFor) {
  const auto buckets = make_buckets();
  DataParallel alone(nullptr, {buckets[0].get(), buckets[1].get()}, {.zero = 1});
  EXPECT_EQ(alone.owned(*buckets[0]), (mesh::Range{0, 48}));
  for (int step = 0; step < 2; ++step) {
    alone.before_use(*buckets[0]);
    make_gradients(*buckets[0], 0, step, 0);
    make_gradients(*buckets[1], 0, step, 1);
    const Tensor before = buckets[0]->gradients().clone();
    alone.gradients_ready(*buckets[0]);
    alone.finish_gradients();
    EXPECT_TRUE(buckets[0]->gradients().equal(before));
    alone.parameters_updated();
    alone.finish_parameters();
  }
}

TEST(DataParallel, CallsOutOfOrderAreDefects) {
  const auto buckets = make_buckets();
  auto &a = *buckets[0], &b = *buckets[1], &foreign = *buckets[2];
  DataParallel replicas(nullptr, {&a, &b}, {});
  make_gradients(foreign, 0, 0, 2);
  EXPECT_THROW(replicas.gradients_ready(foreign), BrokenInvariant);
  EXPECT_THROW(replicas.before_use(foreign), BrokenInvariant);
  EXPECT_THROW((void)replicas.owned(foreign), BrokenInvariant);
  EXPECT_THROW(replicas.gradients_ready(a), BrokenInvariant);  // incomplete
  EXPECT_THROW(replicas.finish_gradients(), BrokenInvariant);
  make_gradients(a, 0, 0, 0);
  make_gradients(b, 0, 0, 1);
  replicas.gradients_ready(a);
  EXPECT_THROW(replicas.gradients_ready(a), BrokenInvariant);
  EXPECT_THROW(replicas.before_use(a), BrokenInvariant);
  EXPECT_THROW(replicas.parameters_updated(), BrokenInvariant);
  replicas.before_use(b);
  replicas.finish_gradients();
  replicas.gradients_ready(a);  // a step that was skipped has no update
  replicas.finish_gradients();
  replicas.parameters_updated();
  EXPECT_THROW(DataParallel(nullptr, {&a}, {.zero = 2}), BrokenInvariant);
}

// While parameters are in flight: no update, and no gradients but of a bucket that was not used.
TEST(DataParallel, ParametersInFlightAreLeftAlone) {
  LocalWorld world;
  expect_all_done(run_replicas(world, 2, [&](Group& group, const Buckets& buckets) {
    DataParallel replicas(&group, buckets, {.zero = 1});
    for (std::size_t i = 0; i < 3; ++i) make_gradients(*buckets[i], group.rank(), 0, i);
    replicas.finish_gradients();
    replicas.parameters_updated();
    EXPECT_THROW(replicas.parameters_updated(), BrokenInvariant);
    EXPECT_THROW(replicas.gradients_ready(*buckets[1]), BrokenInvariant);
    replicas.before_use(*buckets[1]);
    replicas.gradients_ready(*buckets[1]);
    replicas.finish_gradients();
    replicas.parameters_updated();
    replicas.finish_parameters();
  }));
}

}  // namespace
}  // namespace hairpin::parallel
