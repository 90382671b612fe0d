#include "hairpin/parallel/partial_gradients.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "hairpin/base/check.h"
#include "hairpin/collective/local.h"
#include "hairpin/parallel/test_ranks.h"

namespace hairpin::parallel {
namespace {

nn::ParameterPart part(std::int64_t rows, int copies, int copy, bool partial) {
  auto part = nn::whole_part("part", {rows, 3});
  part.copies = copies;
  part.copy = copy;
  part.partial = partial;
  return part;
}

// A norm on all 4 ranks, and q, k, v with K/V heads on pairs of them.
std::vector<nn::ParameterSpec> specs(int rank, bool partial) {
  const int copy = rank % 2;
  return {
      {"norm", {5, 3}, {part(5, 4, rank, partial)}},
      {"qkv", {7, 3}, {part(4, 1, 0, false), part(1, 2, copy, partial), part(2, 2, copy, partial)}},
      {"same", {2, 3}, {part(2, 4, rank, false)}}};
}

// Gradients by rank after the sums, and the number of operations in each group.
struct Outcome {
  std::vector<Tensors> gradients;
  std::vector<std::uint64_t> operations;
};

Tensor gradient(int rank, std::size_t index, std::int64_t rows) {
  return random_tensor({rows, 3}, 10 * static_cast<std::uint64_t>(rank) + index);
}

Outcome run(bool partial) {
  collective::LocalWorld world;
  const auto all = world.make_group(4, "all");
  auto pairs = world.make_group(2, "first pair");
  for (auto& group : world.make_group(2, "second pair")) pairs.push_back(std::move(group));
  Outcome outcome{std::vector<Tensors>(4), std::vector<std::uint64_t>(8)};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank, i = static_cast<std::size_t>(rank)] {
      nn::Bucket bucket(specs(rank, partial));
      for (std::size_t p = 0; p < 3; ++p) {
        bucket[p].gradient.copy_(gradient(rank, p, bucket[p].value.size(0)));
        bucket[p].has_gradient = true;
      }
      sum_partial_gradients(bucket, {.group = all[i].get(), .copies = pairs[i].get()});
      for (std::size_t p = 0; p < 3; ++p)
        outcome.gradients[i].push_back(bucket[p].gradient.clone());
      outcome.operations[i] = all[i]->traffic().operations;
      outcome.operations[4 + i] = pairs[i]->traffic().operations;
    });
  }
  for (auto& thread : threads) thread.join();
  return outcome;
}

TEST(PartialGradients, AreSummedOverTheirCopiesAndNoOthers) {
  const auto outcome = run(true);
  const auto sum = [](int first, int count, std::size_t index, std::int64_t rows) {
    Tensor total = gradient(first, index, rows);
    for (int rank = first + 1; rank < first + count; ++rank)
      total = total.add(gradient(rank, index, rows));
    return total;
  };
  for (int rank = 0; rank < 4; ++rank) {
    const auto& got = outcome.gradients[static_cast<std::size_t>(rank)];
    const Tensor own = gradient(rank, 1, 7);
    EXPECT_TRUE(got[0].equal(sum(0, 4, 0, 5)));
    EXPECT_TRUE(got[1].narrow(0, 0, 4).equal(own.narrow(0, 0, 4)));
    EXPECT_TRUE(got[1].narrow(0, 4, 3).equal(sum(rank / 2 * 2, 2, 1, 7).narrow(0, 4, 3)));
    EXPECT_TRUE(got[2].equal(gradient(rank, 2, 2)));
  }
  EXPECT_EQ(outcome.operations, std::vector<std::uint64_t>(8, 1));  // one a group
}

TEST(PartialGradients, NothingMovesWhenNoneIsPartial) {
  const auto outcome = run(false);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(outcome.gradients[static_cast<std::size_t>(rank)][0].equal(gradient(rank, 0, 5)));
  EXPECT_EQ(outcome.operations, std::vector<std::uint64_t>(8, 0));
}

TEST(PartialGradients, MustBeCompleteAndHaveTheirGroup) {
  nn::Bucket bucket(specs(0, true));
  collective::LocalWorld world;
  const auto group = world.make_group(3, "three");
  EXPECT_THROW(sum_partial_gradients(bucket, {.group = group[0].get()}), BrokenInvariant);
  bucket.complete_gradients();
  EXPECT_THROW(sum_partial_gradients(bucket, {.group = group[0].get()}), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::parallel
