// What each operator leaves in a rank's memory until its backward, as docs/parallel.md lists it.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "hairpin/parallel/linear.h"
#include "hairpin/parallel/test_ranks.h"
#include "hairpin/parallel/vocabulary.h"
#include "hairpin/tensor/memory_meter.h"

namespace hairpin::parallel {
namespace {

constexpr std::int64_t kTokens = 13, kHidden = 12, kInner = 10, kVocab = 31;

class KeptMemory : public testing::TestWithParam<Ranks> {
 protected:
  KeptMemory() { install_memory_meter(); }

  // Elements of 4 bytes that `op` made and that live on beside its result, on this rank, when all
  // ranks are done: a shard lives until the last of them has used it.
  static std::int64_t kept(const TensorParallel& tp, const std::function<Tensor()>& op) {
    MemoryMeter meter;
    const MeterScope scope(&meter, MemoryUse::activations);
    const Tensor y = op();
    tp.group->barrier();
    return (meter.current().total() - static_cast<std::int64_t>(y.nbytes())) / 4;
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, KeptMemory,
                         testing::Values(Ranks{2, false}, Ranks{3, false}, Ranks{2, true},
                                         Ranks{3, true}));

TEST_P(KeptMemory, IsThisRanksShareOnly) {
  const Tensor x = random_tensor({kTokens, kHidden}, 1), wide = random_tensor({kTokens, kInner}, 2);
  const Tensor norm = random_tensor({kHidden}, 3), up = random_tensor({kInner, kHidden}, 4);
  const Tensor down = random_tensor({kHidden, kInner}, 5),
               table = random_tensor({kVocab, kHidden}, 6);
  const std::vector<std::int32_t> ids(kTokens, 7);
  const std::vector<float> weights(kTokens, 0.1f);
  const auto ranks = GetParam();
  on_ranks(ranks, [&](const TensorParallel& tp) {
    Parameters own({norm, share_of(up, 0, tp), share_of(down, 1, tp), share_of(table, 0, tp)});
    const Tensor in = rows_of(x, tp).requires_grad_();
    const Tensor columns = share_of(wide, 1, tp).requires_grad_();
    const auto rows = in.size(0);
    EXPECT_EQ(kept(tp, [&] { return column_linear(in, kTokens, own[1], nullptr, tp); }), 0);
    EXPECT_EQ(
        kept(tp,
             [&] { return norm_column_linear(in, kTokens, own[0], kEps, own[1], nullptr, tp); }),
        ranks.sequence ? rows * (kHidden + 1) : rows);
    EXPECT_EQ(kept(tp, [&] { return row_linear(columns, own[2], nullptr, tp); }), 0);
    EXPECT_EQ(kept(tp, [&] { return vocabulary_embedding(ids, kVocab, own[3], tp); }), kTokens);
    const auto of_head = kept(tp, [&] {
      return vocabulary_head_loss(in, kVocab, own[0], kEps, own[3], {ids, weights, 4}, tp);
    });
    EXPECT_EQ(of_head, rows * kHidden);
    return Tensors{};
  });
}

}  // namespace
}  // namespace hairpin::parallel
