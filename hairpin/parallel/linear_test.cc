// Each operator against its single-device twin: ranks as threads, every rank's shards cut from one
// whole random parameter, the results put together again.
#include "hairpin/parallel/linear.h"

#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/nn/linear.h"
#include "hairpin/parallel/test_ranks.h"
#include "hairpin/parallel/watched_group.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::parallel {
namespace {

// hidden, inner: odd ones, 9 heads of 16, fewer columns than divide evenly.
struct Sizes {
  std::int64_t hidden, inner;
};
constexpr Sizes kSizes[] = {{48, 144}, {60, 27}, {7, 5}};

class Layers : public testing::TestWithParam<std::tuple<Ranks, std::int64_t>> {
 protected:
  Layers() { set_compute_threads(1); }
  const Ranks ranks_ = std::get<0>(GetParam());
  const std::int64_t tokens_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Sizes, Layers,
                         testing::Combine(testing::ValuesIn(all_ranks()),
                                          testing::Values(1, 2, 5, 7, 64, 130)));

TEST_P(Layers, Column) {
  for (const auto& [hidden, inner] : kSizes) {
    const Tensor x = random_tensor({tokens_, hidden}, 1), dy = random_tensor({tokens_, inner}, 2);
    const Tensor w = random_tensor({inner, hidden}, 3), b = random_tensor({inner}, 4);
    Parameters whole({w, b});
    const auto want = forward_backward(
        x, dy, whole, [&](const Tensor& in) { return nn::linear(in, whole[0], &whole[1]); });
    const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 0, tp), share_of(b, 0, tp)});
      return forward_backward(rows_of(x, tp), share_of(dy, 1, tp), own, [&](const Tensor& in) {
        return column_linear(in, tokens_, own[0], &own[1], tp);
      });
    });
    EXPECT_TRUE(close(assembled(got, 0, 1), want[0]));
    EXPECT_TRUE(close(whole_rows_of(got, 1, ranks_), want[1]));
    EXPECT_TRUE(close(assembled(got, 2, 0), want[2]));
    EXPECT_TRUE(close(assembled(got, 3, 0), want[3]));
  }
}

TEST_P(Layers, NormColumn) {
  for (const auto& [hidden, inner] : kSizes) {
    const Tensor x = random_tensor({tokens_, hidden}, 1), dy = random_tensor({tokens_, inner}, 2);
    const Tensor norm = random_tensor({hidden}, 3);
    const Tensor w = random_tensor({inner, hidden}, 4), b = random_tensor({inner}, 5);
    Parameters whole({norm, w, b});
    const auto want = forward_backward(x, dy, whole, [&](const Tensor& in) {
      return nn::norm_linear(in, whole[0], kEps, whole[1], &whole[2]);
    });
    const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
      Parameters own({norm, share_of(w, 0, tp), share_of(b, 0, tp)});
      return forward_backward(rows_of(x, tp), share_of(dy, 1, tp), own, [&](const Tensor& in) {
        return norm_column_linear(in, tokens_, own[0], kEps, own[1], &own[2], tp);
      });
    });
    EXPECT_TRUE(close(assembled(got, 0, 1), want[0]));
    EXPECT_TRUE(close(whole_rows_of(got, 1, ranks_), want[1]));
    EXPECT_TRUE(close(ranks_.sequence ? summed(got, 2) : common(got, 2), want[2]));
    EXPECT_TRUE(close(assembled(got, 3, 0), want[3]));
    EXPECT_TRUE(close(assembled(got, 4, 0), want[4]));
  }
}

TEST_P(Layers, Row) {
  for (const auto& [hidden, inner] : kSizes) {
    const Tensor x = random_tensor({tokens_, inner}, 1), dy = random_tensor({tokens_, hidden}, 2);
    const Tensor w = random_tensor({hidden, inner}, 3), b = random_tensor({hidden}, 4);
    Parameters whole({w, b});
    const auto want = forward_backward(
        x, dy, whole, [&](const Tensor& in) { return nn::linear(in, whole[0], &whole[1]); });
    const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 1, tp), b});
      return forward_backward(share_of(x, 1, tp), rows_of(dy, tp), own, [&](const Tensor& in) {
        return row_linear(in, own[0], &own[1], tp);
      });
    });
    EXPECT_TRUE(close(whole_rows_of(got, 0, ranks_), want[0]));
    EXPECT_TRUE(close(assembled(got, 1, 1), want[1]));
    EXPECT_TRUE(close(assembled(got, 2, 1), want[2]));
    EXPECT_TRUE(close(common(got, 3), want[3]));
  }
}

TEST_P(Layers, SwigluRow) {
  for (const auto& [hidden, inner] : kSizes) {
    const Tensor gate = random_tensor({tokens_, inner}, 1), up = random_tensor({tokens_, inner}, 2);
    const Tensor dy = random_tensor({tokens_, hidden}, 3), w = random_tensor({hidden, inner}, 4);
    Parameters whole({w});
    const auto want = forward_backward(at::cat({gate, up}, 1), dy, whole, [&](const Tensor& in) {
      return nn::swiglu_linear(in, whole[0]);
    });
    const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 1, tp)});
      auto result = forward_backward(
          at::cat({share_of(gate, 1, tp), share_of(up, 1, tp)}, 1), rows_of(dy, tp), own,
          [&](const Tensor& in) { return swiglu_row_linear(in, own[0], tp); });
      const auto columns = own[0].value.size(1);  // apart again: gate's gradient, up's gradient
      result.push_back(result[1].narrow(1, columns, columns));
      result[1] = result[1].narrow(1, 0, columns);
      return result;
    });
    EXPECT_TRUE(close(whole_rows_of(got, 0, ranks_), want[0]));
    EXPECT_TRUE(close(at::cat({assembled(got, 1, 1), assembled(got, 3, 1)}, 1), want[1]));
    EXPECT_TRUE(close(assembled(got, 2, 1), want[2]));
  }
}

// A column and a row operator in sequence, for two microbatches whose gradients add up.
TEST_P(Layers, ColumnThenRow) {
  const auto& [hidden, inner] = kSizes[1];
  const Tensor x = random_tensor({2, tokens_, hidden}, 1);
  const Tensor dy = random_tensor({2, tokens_, hidden}, 2);
  const Tensor norm = random_tensor({hidden}, 3), up = random_tensor({inner, hidden}, 4);
  const Tensor down = random_tensor({hidden, inner}, 5);
  Parameters whole({norm, up, down});
  const auto run = [&](Parameters& parameters, const TensorParallel& tp) {
    Tensors results;
    for (const int microbatch : {0, 1}) {
      results = forward_backward(
          rows_of(x[microbatch], tp), rows_of(dy[microbatch], tp), parameters,
          [&](const Tensor& in) {
            return row_linear(
                norm_column_linear(in, tokens_, parameters[0], kEps, parameters[1], nullptr, tp),
                parameters[2], nullptr, tp);
          });
    }
    return results;
  };
  const auto want = run(whole, {});
  const auto got = on_ranks(ranks_, [&](const TensorParallel& tp) {
    Parameters own({norm, share_of(up, 0, tp), share_of(down, 1, tp)});
    return run(own, tp);
  });
  EXPECT_TRUE(close(whole_rows_of(got, 0, ranks_), want[0]));
  EXPECT_TRUE(close(whole_rows_of(got, 1, ranks_), want[1]));
  EXPECT_TRUE(close(ranks_.sequence ? summed(got, 2) : common(got, 2), want[2]));
  EXPECT_TRUE(close(assembled(got, 3, 0), want[3]));
  EXPECT_TRUE(close(assembled(got, 4, 1), want[4]));
}

// On one rank an operator is its twin, bit for bit.
TEST(OneRank, IsTheTwin) {
  set_compute_threads(1);
  const Tensor x = random_tensor({5, 12}, 1), dy = random_tensor({5, 9}, 2);
  const Tensor norm = random_tensor({12}, 3), w = random_tensor({9, 12}, 4);
  Parameters a({norm, w}), b({norm, w});
  const auto want = forward_backward(
      x, dy, a, [&](const Tensor& in) { return nn::norm_linear(in, a[0], kEps, a[1], nullptr); });
  const auto got = forward_backward(x, dy, b, [&](const Tensor& in) {
    return norm_column_linear(in, 5, b[0], kEps, b[1], nullptr, {});
  });
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(got[i].equal(want[i])) << i;
}

// Two all-reduces forward and backward, or an all-gather and a reduce-scatter in place of each:
// 4 (n-1)/n T h floats a rank; summed over ranks also when the shares are uneven.
TEST(Communication, SequenceParallelismMovesNoMoreBytes) {
  constexpr std::int64_t kHidden = 12, kInner = 8;
  const Tensor norm = random_tensor({kHidden}, 2), w = random_tensor({kInner, kHidden}, 3);
  for (const std::int64_t tokens : {24, 25, 2}) {
    const Tensor x = random_tensor({tokens, kHidden}, 1);
    for (const Ranks& ranks : all_ranks()) {
      const auto wanted = static_cast<std::uint64_t>(4 * tokens * kHidden * 4 * (ranks.size - 1));
      std::atomic<std::uint64_t> bytes = 0;
      on_ranks(ranks, [&](const TensorParallel& tp) {
        Parameters own({norm, share_of(w, 0, tp), share_of(w.t(), 1, tp)});
        forward_backward(rows_of(x, tp), rows_of(x, tp), own, [&](const Tensor& in) {
          return row_linear(norm_column_linear(in, tokens, own[0], kEps, own[1], nullptr, tp),
                            own[2], nullptr, tp);
        });
        const auto moved = tp.group->traffic().bytes;
        if (tokens == 24) {
          EXPECT_EQ(moved * static_cast<std::uint64_t>(ranks.size), wanted) << ranks;
        }
        bytes += moved;
        return Tensors{};
      });
      EXPECT_EQ(bytes, wanted) << ranks << ", " << tokens << " tokens";
    }
  }
}

// The one communication of a column operator's backward goes on while it computes the weight's
// gradient.
TEST(Communication, OverlapsTheWeightsGradient) {
  const Tensor x = random_tensor({6, 8}, 1), w = random_tensor({10, 8}, 2);
  for (const bool sequence : {false, true}) {
    on_ranks({2, sequence}, [&](const TensorParallel& tp) {
      Parameters own({share_of(w, 0, tp)});
      int starts = 0, waits = 0;
      WatchedGroup group(*tp.group, {.on_start =
                                         [&] {
                                           EXPECT_FALSE(own[0].has_gradient);
                                           ++starts;
                                         },
                                     .on_wait =
                                         [&] {
                                           EXPECT_TRUE(own[0].has_gradient);
                                           ++waits;
                                         }});
      const TensorParallel watched{.group = &group, .sequence = sequence};
      forward_backward(rows_of(x, tp), random_tensor({6, 5}, 3), own, [&](const Tensor& in) {
        return column_linear(in, 6, own[0], nullptr, watched);
      });
      EXPECT_EQ(starts, 1);
      EXPECT_EQ(waits, 1);
      return Tensors{};
    });
  }
}

TEST(Failure, EndsTheOtherRanksInBackwardToo) {
  const Tensor x = random_tensor({6, 8}, 1), w = random_tensor({10, 8}, 2);
  std::atomic<int> aborted = 0;
  const auto run = [&](const TensorParallel& tp) {
    Parameters own({share_of(w, 0, tp)});
    try {
      return forward_backward(rows_of(x, tp), random_tensor({6, 5}, 3), own, [&](const Tensor& in) {
        const Tensor y = column_linear(in, 6, own[0], nullptr, tp);
        if (tp.rank() == 1) throw std::runtime_error("no more");
        return y;
      });
    } catch (const collective::Aborted& error) {
      EXPECT_EQ(error.error().message, "no more");
      ++aborted;
      throw;
    }
  };
  EXPECT_THROW(on_ranks({2, false}, run), std::runtime_error);
  EXPECT_EQ(aborted, 1);
}

TEST(Defects, RowsThatAreNotThisRanks) {
  const Tensor x = random_tensor({6, 8}, 1), w = random_tensor({10, 8}, 2);
  EXPECT_THROW(on_ranks({2, true},
                        [&](const TensorParallel& tp) {
                          Parameters own({share_of(w, 0, tp)});
                          return Tensors{column_linear(x, 6, own[0], nullptr, tp)};
                        }),
               BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::parallel
