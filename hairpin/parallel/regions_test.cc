#include "hairpin/parallel/regions.h"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>
#include <vector>

#include "hairpin/nn/linear.h"
#include "hairpin/parallel/linear.h"
#include "hairpin/parallel/test_ranks.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::parallel {
namespace {

using Region = std::function<Tensor(const Tensor&, const TensorParallel&)>;

class Regions : public testing::TestWithParam<std::tuple<int, std::int64_t>> {
 protected:
  Regions() { set_compute_threads(1); }
  // Output and input's gradient by rank.
  std::vector<Tensors> run(const Region& input, const Region& gradient, const Region& region) {
    return on_ranks({ranks_}, [&](const TensorParallel& tp) {
      Parameters none({});
      return forward_backward(input(x_, tp), gradient(dy_, tp), none,
                              [&](const Tensor& in) { return region(in, tp); });
    });
  }
  const int ranks_ = std::get<0>(GetParam());
  const std::int64_t tokens_ = std::get<1>(GetParam());
  const Tensor x_ = random_tensor({tokens_, 10}, 1), dy_ = random_tensor({tokens_, 10}, 2);
};
INSTANTIATE_TEST_SUITE_P(Sizes, Regions,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Values(1, 3, 64)));

Tensor whole(const Tensor& x, const TensorParallel&) { return x; }
Tensor columns(const Tensor& x, const TensorParallel& tp) { return share_of(x, 1, tp); }
Tensor rows(const Tensor& x, const TensorParallel& tp) { return share_of(x, 0, tp); }

TEST_P(Regions, ScatterGivesEachRankItsShareAndGathersTheGradient) {
  for (const std::int64_t dim : {0, 1}) {
    const auto got = run(whole, dim == 0 ? rows : columns, [&](const Tensor& x, const auto& tp) {
      return dim == 0 ? scatter_rows(x, tp) : scatter_columns(x, tp);
    });
    EXPECT_TRUE(assembled(got, 0, dim).equal(x_));
    EXPECT_TRUE(common(got, 1).equal(dy_));
  }
}

TEST_P(Regions, GatherGivesAllRanksTheWholeAndScattersTheGradient) {
  for (const std::int64_t dim : {0, 1}) {
    const auto got = run(dim == 0 ? rows : columns, whole, [&](const Tensor& x, const auto& tp) {
      return dim == 0 ? gather_rows(x, tokens_, tp) : gather_columns(x, 10, tp);
    });
    EXPECT_TRUE(common(got, 0).equal(x_));
    EXPECT_TRUE(assembled(got, 1, dim).equal(dy_));
  }
}

// A row of an outer product, say, has neither rows nor columns that lie end to end.
TEST_P(Regions, TakeTensorsThatAreNotContiguous) {
  const Tensor turned = x_.t().contiguous().t(), one = dy_.narrow(0, 0, 1);
  const auto got = on_ranks({ranks_}, [&](const TensorParallel& tp) {
    Parameters none({});
    const Tensor own = share_of(x_, 1, tp).t().contiguous().t();
    auto result = forward_backward(own, one.expand({tokens_, 10}), none,
                                   [&](const Tensor& in) { return gather_columns(in, 10, tp); });
    result.push_back(scatter_columns(turned, tp));
    return result;
  });
  EXPECT_TRUE(common(got, 0).equal(x_));
  EXPECT_TRUE(assembled(got, 1, 1).equal(one.expand({tokens_, 10})));
  EXPECT_TRUE(assembled(got, 2, 1).equal(x_));
}

// Operators that stand alone: whole in, whole out, under either kind of rows.
TEST_P(Regions, MakeAColumnOperatorWhole) {
  const Tensor w = random_tensor({9, 10}, 3), dy = random_tensor({tokens_, 9}, 4);
  Parameters twin({w});
  const auto want = forward_backward(
      x_, dy, twin, [&](const Tensor& in) { return nn::linear(in, twin[0], nullptr); });
  for (const bool sequence : {false, true}) {
    const auto got = on_ranks({ranks_, sequence}, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 0, tp)});
      return forward_backward(x_, dy, own, [&](const Tensor& in) {
        const Tensor in_rows = tp.scattered() ? scatter_rows(in, tp) : in;
        return gather_columns(column_linear(in_rows, tokens_, own[0], nullptr, tp), 9, tp);
      });
    });
    EXPECT_TRUE(close(common(got, 0), want[0]));
    EXPECT_TRUE(close(common(got, 1), want[1]));
    EXPECT_TRUE(close(assembled(got, 2, 0), want[2]));
  }
}

TEST_P(Regions, MakeARowOperatorWhole) {
  const Tensor w = random_tensor({9, 10}, 3), b = random_tensor({9}, 4);
  const Tensor dy = random_tensor({tokens_, 9}, 5);
  Parameters twin({w, b});
  const auto want = forward_backward(
      x_, dy, twin, [&](const Tensor& in) { return nn::linear(in, twin[0], &twin[1]); });
  for (const bool sequence : {false, true}) {
    const auto got = on_ranks({ranks_, sequence}, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 1, tp), b});
      return forward_backward(x_, dy, own, [&](const Tensor& in) {
        const Tensor out = row_linear(scatter_columns(in, tp), own[0], &own[1], tp);
        return tp.scattered() ? gather_rows(out, tokens_, tp) : out;
      });
    });
    EXPECT_TRUE(close(common(got, 0), want[0]));
    EXPECT_TRUE(close(common(got, 1), want[1]));
    EXPECT_TRUE(close(assembled(got, 2, 1), want[2]));
    EXPECT_TRUE(close(common(got, 3), want[3]));
  }
}

}  // namespace
}  // namespace hairpin::parallel
