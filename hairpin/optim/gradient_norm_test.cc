// The norm against plain loops, and its grouping against the one that docs/numerics.md promises.
#include "hairpin/optim/gradient_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hairpin/base/check.h"
#include "hairpin/optim/optimizer_kernels.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::optim {
namespace {

constexpr std::array kTypes{NormType::one, NormType::two, NormType::infinity};

double joined(double a, double b, NormType type) {
  return type == NormType::infinity ? std::max(a, b) : a + b;
}

double contribution(double g, NormType type) { return type == NormType::two ? g * g : std::abs(g); }

mesh::Range whole(const nn::Bucket& bucket) { return {0, bucket.gradients().numel()}; }

nn::ParameterPart part(const char* name, std::int64_t rows, std::int64_t columns, int copy) {
  auto part = nn::whole_part(name, {rows, columns});
  part.copies = 2;
  part.copy = copy;
  return part;
}

void fill(nn::Bucket& bucket) {
  for (auto& parameter : bucket.parameters()) parameter.gradient.normal_();
}

// qkv's rows of k and v (flat 35 to 55 of 0 to 55) are copies that count elsewhere, and so is the
// bias's second half.
std::vector<nn::ParameterSpec> with_copies(int copy) {
  return {{"qkv", {11, 5}, {part("q", 7, 5, 0), part("k", 3, 5, copy), part("v", 1, 5, copy)}},
          {"o", {5, 7}, {nn::whole_part("o", {5, 7})}},
          {"bias", {40, 1}, {part("qb", 23, 1, 0), part("kb", 17, 1, copy)}}};
}

TEST(GradientNorm, IsTheNormOfAllGradients) {
  at::manual_seed(8);
  nn::Bucket a({{"w", {13, 7}, {}}, {"b", {3}, {}}}), b({{"w", {5}, {}}});
  for (const auto type : kTypes) {
    double total = 0;
    for (auto* bucket : {&a, &b}) {
      fill(*bucket);
      for (const auto& parameter : bucket->parameters())
        for (const double g : fp32_span(parameter.gradient))
          total = joined(total, contribution(g, type), type);
    }
    const double expected = type == NormType::two ? std::sqrt(total) : total;
    const double norm =
        global_norm({norm_term(a, whole(a), type), norm_term(b, whole(b), type)}, type);
    EXPECT_NEAR(norm, expected, 1e-12 * norm);
    EXPECT_EQ(global_norm({}, type), 0.0);
  }
}

// The bits that a run had before parts could be copies: 16 lanes over the flat buffer.
TEST(GradientNorm, SquaresOfAWholeBucketKeepTheirGrouping) {
  at::manual_seed(9);
  nn::Bucket bucket({{"w", {131, 77}, {}}, {"b", {3}, {}}});
  fill(bucket);
  const auto flat = fp32_span(bucket.gradients());
  double lanes[16] = {}, sum = 0;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const double g = flat[i];
    lanes[i % 16] += g * g;
  }
  for (const double lane : lanes) sum += lane;
  EXPECT_EQ(norm_term(bucket, whole(bucket), NormType::two), sum);
}

TEST(GradientNorm, CopiesCountOnce) {
  nn::Bucket counted(with_copies(0)), copy(with_copies(1));
  at::manual_seed(10);
  fill(counted);
  copy.gradients().copy_(counted.gradients());
  Tensor without = counted.gradients().clone();
  for (const auto& [begin, end] : {std::pair{35, 55}, {64 + 48 + 23, 64 + 48 + 40}}) {
    EXPECT_GT(without.narrow(0, begin, end - begin).abs().min().item<float>(), 0.0f);
    without.narrow(0, begin, end - begin).zero_();
  }
  const Tensor all = counted.gradients().clone();
  for (const auto type : kTypes)
    for (const mesh::Range range :
         {whole(copy), mesh::Range{0, 48}, {48, 80}, {40, 10}, {160, 0}}) {
      counted.gradients().copy_(without);
      const double expected = norm_term(counted, range, type);
      EXPECT_EQ(norm_term(copy, range, type), expected) << range.begin;
      counted.gradients().copy_(all);
      if (range == whole(copy) && type != NormType::infinity) {
        EXPECT_GT(norm_term(counted, range, type), expected);
      }
    }
}

TEST(GradientNorm, SharesTogetherAreTheWhole) {
  nn::Bucket bucket(with_copies(1));
  at::manual_seed(11);
  fill(bucket);
  for (const auto type : kTypes) {
    const double expected = norm_term(bucket, whole(bucket), type);
    double total = 0;
    for (const mesh::Range range : {mesh::Range{0, 64}, {64, 48}, {112, 48}, {160, 0}})
      total = joined(total, norm_term(bucket, range, type), type);
    EXPECT_NEAR(total, expected, 1e-13 * expected);
  }
  EXPECT_THROW(norm_term(bucket, {96, 80}, NormType::two), BrokenInvariant);
}

TEST(GradientNorm, IsNotFiniteIfAnElementIsNot) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  nn::Bucket bucket({{"w", {53}, {}}});
  for (const auto type : kTypes) {
    for (const std::int64_t at : {0, 1, 15, 16, 47, 48, 52}) {
      bucket[0].gradient.fill_(3e38f);
      EXPECT_TRUE(std::isfinite(norm_term(bucket, whole(bucket), type)));
      bucket[0].gradient[at] = -kInfinity;
      EXPECT_EQ(norm_term(bucket, whole(bucket), type), kInfinity) << at;
      bucket[0].gradient[(at + 7) % 53] = kNan;
      EXPECT_TRUE(std::isnan(norm_term(bucket, whole(bucket), type))) << at;
      bucket[0].gradient[at] = 1.0f;
      EXPECT_TRUE(std::isnan(norm_term(bucket, whole(bucket), type))) << at;
      EXPECT_TRUE(std::isnan(norm_term(bucket, {1, 52}, type)) || (at + 7) % 53 == 0) << at;
    }
    for (const auto& terms : {std::vector{kNan, 1.0, kInfinity}, {2.0, kNan, 1.0}, {1.0, kNan}})
      EXPECT_TRUE(std::isnan(global_norm(terms, type)));
    EXPECT_EQ(global_norm({1.0, kInfinity, 2.0}, type), kInfinity);
  }
}

TEST(GradientNorm, ClipsAsTorchDoes) {
  EXPECT_EQ(clip_scale(123.0, std::nullopt), 1.0);
  EXPECT_EQ(clip_scale(0.0, 1.0), 1.0);
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(4.0, 1.0), 1.0 / 4.000001);
  EXPECT_EQ(clip_scale(1.0, 1.0), 1.0 / 1.000001);
}

// Where runs begin and end changes no bit.
TEST(NormKernels, SumsGroupByTheElementsPlace) {
  at::manual_seed(12);
  const Tensor array = at::randn({1003});
  const auto* x = array.const_data_ptr<float>();
  for (const auto kernel : {add_absolutes, add_squares}) {
    Lanes whole{};
    kernel(whole, x, {0, 1003});
    for (const std::int64_t piece : {1, 5, 16, 17, 31, 500}) {
      Lanes pieces{};
      for (std::int64_t i = 0; i < 1003; i += piece)
        kernel(pieces, x, {i, std::min(piece, 1003 - i)});
      EXPECT_EQ(pieces, whole) << piece;
    }
  }
}

}  // namespace
}  // namespace hairpin::optim
