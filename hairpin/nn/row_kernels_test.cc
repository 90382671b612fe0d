// Each kernel against its formula in fp64, for lengths around its 16 lanes, and the same bits
// wherever a row or an element lies.
#include "hairpin/nn/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hairpin/base/random.h"
#include "hairpin/nn/exp.h"

namespace hairpin::nn {
namespace {

using Row = std::vector<float>;

Row random_row(std::int64_t n, std::uint64_t seed, double scale = 2.0) {
  Random random(seed);
  Row row(static_cast<std::size_t>(n));
  for (auto& x : row) x = static_cast<float>(scale * (2.0 * random.unit() - 1.0));
  return row;
}

template <class Formula>
void expect_near(const Row& got, double tolerance, Formula formula) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = formula(i);
    ASSERT_NEAR(got[i], want, tolerance * (std::abs(want) + 1e-3)) << "element " << i;
  }
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(Exp, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (double x = -87.0; x <= 88.0; x += 0.00037) {
    const auto argument = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(argument));
    const auto rounded = static_cast<float>(exact);
    const double unit =
        static_cast<double>(std::nextafter(rounded, std::numeric_limits<float>::infinity())) -
        static_cast<double>(rounded);
    worst = std::max(worst, std::abs(static_cast<double>(exp_kernel(argument)) - exact) / unit);
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_EQ(exp_kernel(0.0f), 1.0f);
}

TEST(Exp, SaturatesOutsideAndKeepsNaN) {
  EXPECT_EQ(exp_kernel(-1e30f), exp_kernel(-87.0f));
  EXPECT_EQ(exp_kernel(-INFINITY), exp_kernel(-87.0f));
  EXPECT_EQ(exp_kernel(INFINITY), exp_kernel(88.0f));
  EXPECT_TRUE(std::isfinite(exp_kernel(88.0f)));
  EXPECT_TRUE(std::isnan(exp_kernel(NAN)));
}

class RowKernels : public testing::TestWithParam<std::int64_t> {
 protected:
  const std::int64_t n_ = GetParam();
  const std::size_t size_ = static_cast<std::size_t>(n_);
};
INSTANTIATE_TEST_SUITE_P(Lengths, RowKernels, testing::Values(1, 15, 16, 17, 576, 1000));

TEST_P(RowKernels, RmsNormAndItsGradient) {
  const Row x = random_row(n_, 1), w = random_row(n_, 2), dy = random_row(n_, 3);
  const double eps = 1e-2;
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n_) + eps);
  const float inv = inverse_rms(x.data(), n_, static_cast<float>(eps));
  EXPECT_NEAR(inv, inverse, 1e-6 * inverse);

  Row y(size_), dx(size_), dw(size_, 0.5f);
  rms_norm_row(y.data(), x.data(), w.data(), inv, n_);
  expect_near(y, 1e-6, [&](std::size_t i) { return double{w[i]} * x[i] * inverse; });

  double dot = 0;
  for (std::size_t i = 0; i < size_; ++i) dot += double{w[i]} * dy[i] * x[i];
  const double mean = dot / static_cast<double>(n_);
  rms_norm_backward_row(dx.data(), dw.data(), dy.data(), x.data(), w.data(), inv, n_);
  for (std::size_t i = 0; i < size_; ++i) {
    const double want = inverse * (double{w[i]} * dy[i] - x[i] * inverse * inverse * mean);
    ASSERT_NEAR(dx[i], want, 1e-5) << i;
    ASSERT_NEAR(dw[i], 0.5 + double{dy[i]} * x[i] * inverse, 1e-5) << i;  // added
  }
}

TEST_P(RowKernels, SwigluAndItsGradient) {
  const Row gate = random_row(n_, 4, 20.0), up = random_row(n_, 5), dh = random_row(n_, 6);
  Row h(size_), dgate(size_), dup(size_);
  swiglu_row(h.data(), gate.data(), up.data(), n_);
  expect_near(h, 1e-6, [&](std::size_t i) { return gate[i] * sigmoid(gate[i]) * up[i]; });
  swiglu_backward_row(dgate.data(), dup.data(), dh.data(), gate.data(), up.data(), n_);
  expect_near(dgate, 2e-6, [&](std::size_t i) {
    const double s = sigmoid(gate[i]);
    return double{dh[i]} * up[i] * (s + gate[i] * s * (1.0 - s));
  });
  expect_near(dup, 1e-6, [&](std::size_t i) { return dh[i] * gate[i] * sigmoid(gate[i]); });
}

TEST_P(RowKernels, RotationAndItsInverse) {
  const auto half = static_cast<std::size_t>(n_);
  const Row x = random_row(2 * n_, 7), angle = random_row(n_, 8, 3.0);
  Row cos(half), sin(half), y(2 * half);
  for (std::size_t i = 0; i < half; ++i) {
    cos[i] = std::cos(angle[i]);
    sin[i] = std::sin(angle[i]);
  }
  rotate_row(y.data(), x.data(), cos.data(), sin.data(), 1.0f, 0.25f, 2 * n_);
  for (std::size_t i = 0; i < half; ++i) {
    ASSERT_NEAR(y[i], 0.25 * (double{x[i]} * cos[i] - double{x[i + half]} * sin[i]), 1e-6);
    ASSERT_NEAR(y[i + half], 0.25 * (double{x[i + half]} * cos[i] + double{x[i]} * sin[i]), 1e-6);
  }
  rotate_row(y.data(), y.data(), cos.data(), sin.data(), -1.0f, 4.0f, 2 * n_);  // in place
  expect_near(y, 1e-3, [&](std::size_t i) { return double{x[i]}; });
}

TEST_P(RowKernels, MaskedSoftmaxAndItsGradient) {
  Row scores = random_row(n_, 9, 30.0);
  scores.back() = 400.0f;  // a maximum in the tail: e^400 would be too large
  const Row dp = random_row(n_, 10);
  for (const auto valid : {std::int64_t{1}, (n_ + 1) / 2, n_}) {
    Row p = scores;
    masked_softmax_row(p.data(), valid, n_);
    const auto end = scores.begin() + valid;
    const double max = *std::max_element(scores.begin(), end);
    double sum = 0;
    for (auto s = scores.begin(); s != end; ++s) sum += std::exp(*s - max);
    expect_near(p, 1e-6, [&](std::size_t i) {
      return i < static_cast<std::size_t>(valid) ? std::exp(scores[i] - max) / sum : 0.0;
    });
    for (auto i = static_cast<std::size_t>(valid); i < size_; ++i) ASSERT_EQ(p[i], 0.0f);

    double dot = 0;
    for (std::size_t i = 0; i < size_; ++i) dot += double{p[i]} * dp[i];
    Row ds = dp;
    softmax_backward_row(ds.data(), p.data(), n_);
    for (std::size_t i = 0; i < size_; ++i) ASSERT_NEAR(ds[i], p[i] * (dp[i] - dot), 1e-6) << i;
  }
}

TEST_P(RowKernels, CrossEntropyAndItsGradient) {
  Row logits = random_row(n_, 11, 30.0);
  logits.back() = 400.0f;
  const Row original = logits;
  const double max = *std::ranges::max_element(original);
  double sum = 0;
  for (const double value : original) sum += std::exp(value - max);
  for (const auto target : {std::size_t{0}, size_ / 2, size_ - 1}) {
    const double want = std::log(sum) + max - original[target];
    const auto index = static_cast<std::int64_t>(target);
    logits = original;
    EXPECT_NEAR(cross_entropy_row(logits.data(), n_, index, nullptr), want, 1e-6 * (1 + want));
    logits = original;
    const float weight = 0.3f;
    EXPECT_NEAR(cross_entropy_row(logits.data(), n_, index, &weight), want, 1e-6 * (1 + want));
    for (std::size_t i = 0; i < size_; ++i)
      ASSERT_NEAR(logits[i], 0.3 * (std::exp(original[i] - max) / sum - (i == target)), 2e-7);
  }
}

TEST_P(RowKernels, ExpRow) {
  Row logits = random_row(n_, 20, 30.0);
  logits.back() = 400.0f;
  Row e = logits;
  float max = 0;
  const double sum = exp_row(e.data(), n_, &max);
  EXPECT_EQ(max, 400.0f);
  double want = 0;
  for (const double value : logits) want += std::exp(value - 400.0);
  EXPECT_NEAR(sum, want, 1e-6 * want);
  expect_near(e, 1e-6, [&](std::size_t i) { return std::exp(logits[i] - 400.0); });
  for (const auto i : {std::size_t{0}, size_ / 2, size_ - 1}) {
    e = logits;
    e[i] = NAN;
    EXPECT_TRUE(std::isnan(exp_row(e.data(), n_, &max))) << i;
  }
  EXPECT_EQ(exp_row(e.data(), 0, &max), 0.0);
  EXPECT_EQ(max, -INFINITY);
}

TEST_P(RowKernels, ScaleRow) {
  const Row x = random_row(n_, 21);
  Row scaled = x;
  scale_row(scaled.data(), n_, 0.3f);
  for (std::size_t i = 0; i < size_; ++i) ASSERT_EQ(scaled[i], x[i] * 0.3f);
}

TEST_P(RowKernels, AddRow) {
  const Row x = random_row(n_, 12), y = random_row(n_, 13);
  Row sum = y;
  add_row(sum.data(), x.data(), n_);
  for (std::size_t i = 0; i < size_; ++i) ASSERT_EQ(sum[i], y[i] + x[i]);
}

// A row keeps its bits wherever it starts in memory: nothing depends on alignment.
TEST_P(RowKernels, ARowHasTheSameBitsAtEveryAddress) {
  const Row x = random_row(n_, 14, 5.0), w = random_row(n_, 15), dy = random_row(n_, 16);
  const auto all = [&](std::size_t shift) {
    const auto placed = [&](const Row& row) {
      Row buffer(shift + row.size() + 16, 9.0f);
      std::ranges::copy(row, buffer.begin() + static_cast<std::ptrdiff_t>(shift));
      return buffer;
    };
    Row px = placed(x), pw = placed(w), pdy = placed(dy), out = placed(x), more(pw.size(), 0.0f);
    Row results{inverse_rms(&px[shift], n_, 1e-5f)};
    const auto keep = [&](const Row& row) {
      results.insert(results.end(), &row[shift], &row[shift] + n_);
    };
    rms_norm_backward_row(&out[shift], &more[shift], &pdy[shift], &px[shift], &pw[shift], 0.7f, n_);
    keep(out);
    keep(more);
    out = px;
    masked_softmax_row(&out[shift], n_, n_);
    keep(out);
    softmax_backward_row(&pdy[shift], &out[shift], n_);
    keep(pdy);
    out = px;
    float max = 0;
    results.push_back(static_cast<float>(exp_row(&out[shift], n_, &max)));
    keep(out);
    const float weight = 0.5f;
    results.push_back(static_cast<float>(cross_entropy_row(&px[shift], n_, 0, &weight)));
    keep(px);
    return results;
  };
  const Row expected = all(0);
  for (const std::size_t shift : {1, 3, 8, 15}) EXPECT_EQ(all(shift), expected) << shift;
}

// An element-wise kernel gives an element the same bits in the body and in the tail of its loop.
TEST_P(RowKernels, AnElementHasTheSameBitsInEveryRange) {
  const Row gate = random_row(n_, 17, 8.0), up = random_row(n_, 18), dh = random_row(n_, 19);
  const auto all = [&](std::int64_t piece) {
    Row h(size_), dgate(size_), dup(size_), y(size_), sum = dh, scaled = up;
    for (std::int64_t i = 0; i < n_; i += piece) {
      const auto count = std::min(piece, n_ - i);
      const auto* g = gate.data() + i;
      const auto* u = up.data() + i;
      swiglu_row(h.data() + i, g, u, count);
      swiglu_backward_row(dgate.data() + i, dup.data() + i, dh.data() + i, g, u, count);
      rms_norm_row(y.data() + i, g, u, 0.3f, count);
      add_row(sum.data() + i, u, count);
      scale_row(scaled.data() + i, count, 0.7f);
    }
    return std::vector{h, dgate, dup, y, sum, scaled};
  };
  const auto expected = all(n_);
  for (const std::int64_t piece : {1, 3, 16, 17, 100}) EXPECT_EQ(all(piece), expected) << piece;
}

}  // namespace
}  // namespace hairpin::nn
