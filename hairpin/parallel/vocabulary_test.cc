#include "hairpin/parallel/vocabulary.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/nn/embedding.h"
#include "hairpin/parallel/test_ranks.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::parallel {
namespace {

std::vector<std::int32_t> random_ids(std::int64_t tokens, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t t = 0; t < tokens; ++t)
    ids.push_back(static_cast<std::int32_t>((t * t * 29 + t * 7 + 3) % vocab));
  return ids;
}

std::vector<float> some_weights(std::int64_t tokens) {
  std::vector<float> weights;
  for (std::int64_t t = 0; t < tokens; ++t)
    weights.push_back(0.01f * static_cast<float>(1 + t % 4));
  return weights;
}

class Vocabulary : public testing::TestWithParam<std::tuple<Ranks, std::int64_t>> {
 protected:
  Vocabulary() { set_compute_threads(1); }
  const Ranks ranks_ = std::get<0>(GetParam());
  const std::int64_t tokens_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Sizes, Vocabulary,
                         testing::Combine(testing::ValuesIn(all_ranks()),
                                          testing::Values(1, 2, 5, 7, 64, 130)));

// Nothing is added to a row that one rank alone has, so the bits are the twin's.
TEST_P(Vocabulary, EmbeddingHasTheBitsOfItsTwin) {
  for (const std::int64_t vocab : {331, 49}) {
    const Tensor table = random_tensor({vocab, 48}, 1), dy = random_tensor({tokens_, 48}, 2);
    const auto ids = random_ids(tokens_, vocab);
    const Tensor zero = random_tensor({1}, 3).zero_();
    // An embedding has no input to differentiate: a 0 added to its output stands in.
    const auto run = [&](Parameters& parameters, const Tensor& gradient, const auto& embed) {
      return forward_backward(zero, gradient, parameters,
                              [&](const Tensor& in) { return embed(parameters[0]).add(in); });
    };
    Parameters whole({table});
    const auto want =
        run(whole, dy, [&](nn::Parameter& parameter) { return nn::embedding(ids, parameter); });
    const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
      Parameters own({share_of(table, 0, tp)});
      return run(own, rows_of(dy, tp), [&](nn::Parameter& parameter) {
        return vocabulary_embedding(ids, vocab, parameter, tp);
      });
    });
    EXPECT_TRUE(whole_rows_of(got, 0, ranks_).equal(want[0]));
    EXPECT_TRUE(assembled(got, 2, 0).equal(want[2]));
  }
}

struct HeadCase {
  std::int64_t hidden, vocab, tokens, chunk;
  std::vector<std::int32_t> targets = random_ids(tokens, vocab);
  std::vector<float> weights = some_weights(tokens);
  Tensor x = random_tensor({tokens, hidden}, 1), norm = random_tensor({hidden}, 2);
  Tensor output = random_tensor({vocab, hidden}, 3);

  // Results: loss, gradients of x, the norm and the output.
  std::vector<Tensors> run(const Ranks& ranks) const {
    const Tensor one = x.new_ones({}, at::kDouble);
    return on_ranks(ranks, [&](const TensorParallel& tp) {
      Parameters own({norm, share_of(output, 0, tp)});
      return forward_backward(rows_of(x, tp), one, own, [&](const Tensor& in) {
        return vocabulary_head_loss(in, vocab, own[0], kEps, own[1], {targets, weights, chunk}, tp);
      });
    });
  }

  void expect_twin(const Ranks& ranks) const {
    const auto want = run({})[0];
    const auto got = run(ranks);
    EXPECT_TRUE(close(common(got, 0), want[0])) << common(got, 0).item<double>();
    EXPECT_TRUE(close(whole_rows_of(got, 1, ranks), want[1]));
    EXPECT_TRUE(close(ranks.sequence ? summed(got, 2) : common(got, 2), want[2]));
    EXPECT_TRUE(close(assembled(got, 3, 0), want[3]));
  }
};

TEST_P(Vocabulary, HeadLossEqualsItsTwin) {
  for (const std::int64_t chunk : {3, 256}) {
    HeadCase{48, 331, tokens_, chunk}.expect_twin(ranks_);
    HeadCase{60, 49, tokens_, chunk}.expect_twin(ranks_);
  }
}

TEST_P(Vocabulary, TokensWithoutATargetDoNotCount) {
  HeadCase some{48, 49, tokens_, 4}, none = some, first = some;
  for (std::size_t t = 0; t < some.targets.size(); ++t) {
    if (t % 3 != 1) some.targets[t] = -1;
    none.targets[t] = -1;
    if (t != 0) first.targets[t] = -1;
  }
  some.expect_twin(ranks_);
  none.expect_twin(ranks_);
  first.expect_twin(ranks_);
}

TEST_P(Vocabulary, WithoutAnyTargetTheLossAndAllGradientsAreZero) {
  HeadCase none{48, 49, tokens_, 4};
  none.targets.assign(none.targets.size(), -1);
  for (const auto& results : none.run(ranks_)) {
    ASSERT_EQ(results.size(), 4u);
    for (const auto& result : results) EXPECT_EQ(result.count_nonzero().item<std::int64_t>(), 0);
  }
}

TEST(VocabularyHeadLoss, ANaNOnOneRankReachesAll) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::int64_t row : {0, 20, 48}) {
      HeadCase nan{48, 49, 7, 4};
      nan.output[row].fill_(bad);
      for (const auto& result : nan.run({3, false}))
        EXPECT_TRUE(std::isnan(result[0].item<double>())) << row;
    }
  }
}

// Ranks' largest logits lie so far apart that a common shift is needed.
TEST(VocabularyHeadLoss, HoldsForLogitsOfAnySize) {
  HeadCase large{48, 49, 7, 4};
  large.output.narrow(0, 17, 20).mul_(60.0f);
  for (const bool sequence : {false, true}) large.expect_twin({3, sequence});
}

TEST(VocabularyHeadLoss, WithoutGradientsTheLossIsTheSameAndNothingIsSunk) {
  const HeadCase head{48, 331, 13, 4};
  const auto want = head.run({2, true});
  on_ranks({2, true}, [&](const TensorParallel& tp) {
    Parameters own({head.norm, share_of(head.output, 0, tp)});
    const at::NoGradGuard no_grad;
    const Tensor loss = vocabulary_head_loss(rows_of(head.x, tp), head.vocab, own[0], kEps, own[1],
                                             {head.targets, head.weights, head.chunk}, tp);
    EXPECT_TRUE(loss.equal(want[0][0]));
    EXPECT_FALSE(own[0].has_gradient || own[1].has_gradient);
    return Tensors{};
  });
}

// 331 words, 64 tokens, chunks of 4: beside a chunk's share of the logits nothing is larger than
// what the call is given, here x.
TEST(VocabularyHeadLoss, TheLogitsOfAllTokensNeverExistAtOnce) {
  install_memory_meter();
  const HeadCase head{8, 331, 64, 4};
  for (const bool sequence : {false, true}) {
    on_ranks({3, sequence}, [&](const TensorParallel& tp) {
      Parameters own({head.norm, share_of(head.output, 0, tp)});
      const Tensor x = rows_of(head.x, tp).requires_grad_();
      MemoryMeter meter;
      const MeterScope scope(&meter, MemoryUse::activations);
      vocabulary_head_loss(x, head.vocab, own[0], kEps, own[1],
                           {head.targets, head.weights, head.chunk}, tp);
      const auto largest = meter.largest().bytes / 4;  // elements
      EXPECT_LE(largest, head.x.numel());
      EXPECT_GE(largest, 4 * own[1].value.size(0));
      return Tensors{};
    });
  }
}

TEST(VocabularyHeadLoss, WhatDoesNotFitTogetherIsADefect) {
  HeadCase head{48, 49, 7, 4};
  head.targets[3] = 49;
  EXPECT_THROW(head.run({2}), BrokenInvariant);
  head.targets[3] = 48;
  head.weights.pop_back();
  EXPECT_THROW(head.run({2}), BrokenInvariant);
  for (const std::int32_t id : {-1, 49}) {
    EXPECT_THROW(on_ranks({2},
                          [&](const TensorParallel& tp) {
                            Parameters own({share_of(head.output, 0, tp)});
                            const std::vector<std::int32_t> ids{0, id};
                            return Tensors{vocabulary_embedding(ids, 49, own[0], tp)};
                          }),
                 BrokenInvariant);
  }
}

}  // namespace
}  // namespace hairpin::parallel
