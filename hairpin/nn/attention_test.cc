// Packed causal attention against softmax over each segment in fp64.
#include "hairpin/nn/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

const HeadShape kShape{.query_heads = 6, .kv_heads = 2, .head_dim = 10};
const RotaryTable& table() {
  static const RotaryTable instance(512, kShape.head_dim, 10000.0);
  return instance;
}

Tensor rotated(const Tensor& x, std::int64_t first_position) {  // [heads, n, d]
  const auto n = x.size(1), d = x.size(2), half = d / 2;
  const Tensor power = at::arange(0, d, 2, at::kDouble) / static_cast<double>(d);
  const Tensor position = at::arange(first_position, first_position + n, at::kDouble);
  const Tensor angle = at::outer(position, at::pow(10000.0, -power));
  const Tensor a = x.narrow(2, 0, half), b = x.narrow(2, half, half);
  return at::cat({a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()}, 2);
}

Tensor naive_segment(const Tensor& qkv, std::int64_t first_position) {
  const auto n = qkv.size(0), d = kShape.head_dim, K = kShape.kv_heads, Q = kShape.query_heads;
  const auto heads = [&](std::int64_t first, std::int64_t count) {
    return qkv.narrow(1, first * d, count * d).view({n, count, d}).transpose(0, 1);
  };
  const Tensor q = rotated(heads(0, Q), first_position);
  const Tensor k = rotated(heads(Q, K), first_position).repeat_interleave(Q / K, 0);
  const Tensor v = heads(Q + K, K).repeat_interleave(Q / K, 0);
  const Tensor mask = at::full({n, n}, -INFINITY, at::kDouble).triu(1);
  const Tensor scores = at::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(d));
  return at::matmul(at::softmax(scores + mask, -1), v).transpose(0, 1).reshape({n, Q * d});
}

Tensor naive(const Tensor& qkv, const PackedLayout& layout) {
  std::vector<Tensor> parts;
  for (const auto& segment : layout.segments)
    parts.push_back(
        naive_segment(qkv.narrow(0, segment.begin, segment.length), segment.first_position));
  return at::cat(parts, 0);
}

struct Outcome {
  Tensor out, dqkv;
};
Outcome run(const Tensor& qkv, const PackedLayout& layout, const Tensor& dout,
            const RotaryTable& angles = table(), const HeadShape& shape = kShape) {
  const Tensor leaf = qkv.clone().requires_grad_();
  const Tensor out = attention(leaf, layout, angles, shape);
  return {out.detach(), torch::autograd::grad({out}, {leaf}, {dout})[0]};
}

// 128 is the number of queries in a block: segments end before, at and behind its multiples.
PackedLayout packed(const std::vector<std::int64_t>& lengths) {
  PackedLayout layout;
  for (const auto length : lengths) layout.append(length);
  return layout;
}

Tensor random_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({rows, columns});
}

void expect_close(const Tensor& got, const Tensor& want, double tolerance = 2e-6) {
  EXPECT_LE((got.to(at::kDouble) - want).norm().item<double>(),
            tolerance * want.norm().item<double>());
}

TEST(Attention, EqualsSoftmaxOverEachSegment) {
  auto layout = packed({1, 128, 3, 129, 257});
  layout.append(20, 100);  // positions that don't begin at 0
  const Tensor qkv = random_rows(layout.tokens, kShape.fused_width(), 1);
  const Tensor dout = random_rows(layout.tokens, 60, 2);
  const Outcome got = run(qkv, layout, dout);
  const Tensor leaf = qkv.to(at::kDouble).requires_grad_();
  const Tensor want = naive(leaf, layout);
  expect_close(got.out, want.detach());
  expect_close(got.dqkv, torch::autograd::grad({want}, {leaf}, {dout.to(at::kDouble)})[0]);
}

TEST(Attention, NothingCrossesFromOneSegmentToAnother) {
  const auto layout = packed({5, 130, 7});
  const Tensor qkv = random_rows(layout.tokens, kShape.fused_width(), 3);
  const Tensor dout = random_rows(layout.tokens, 60, 4);
  const Outcome before = run(qkv, layout, dout);
  const Tensor changed = qkv.clone(), changed_dout = dout.clone();
  changed.narrow(0, 5, 130).normal_();
  changed_dout.narrow(0, 5, 130).normal_();
  const Outcome after = run(changed, layout, changed_dout);
  for (const auto& [begin, length] : {std::pair{0, 5}, {135, 7}}) {
    EXPECT_TRUE(after.out.narrow(0, begin, length).equal(before.out.narrow(0, begin, length)));
    EXPECT_TRUE(after.dqkv.narrow(0, begin, length).equal(before.dqkv.narrow(0, begin, length)));
  }
}

// What a sample contributes doesn't depend on what it is packed with, as long as the rows of a head
// are whole cache lines, as they are in every real model: the BLAS library may sum in another order
// for memory that is aligned otherwise.
TEST(Attention, ASegmentHasTheSameBitsAloneAndPacked) {
  const HeadShape shape{.query_heads = 6, .kv_heads = 2, .head_dim = 16};
  const RotaryTable angles(512, shape.head_dim, 10000.0);
  for (const std::int64_t length : {1, 2, 9, 17, 33, 128, 129, 150}) {
    const auto layout = packed({33, length, 14});
    const Tensor qkv = random_rows(layout.tokens, shape.fused_width(), 5);
    const Tensor dout = random_rows(layout.tokens, 96, 6);
    const Outcome together = run(qkv, layout, dout, angles, shape);
    const Outcome alone =
        run(qkv.narrow(0, 33, length), packed({length}), dout.narrow(0, 33, length), angles, shape);
    EXPECT_TRUE(together.out.narrow(0, 33, length).equal(alone.out)) << length;
    EXPECT_TRUE(together.dqkv.narrow(0, 33, length).equal(alone.dqkv)) << length;
  }
}

TEST(Attention, TwoThreadsAgreeWithOne) {
  const auto layout = packed({150, 40});
  const Tensor qkv = random_rows(layout.tokens, kShape.fused_width(), 7);
  const Tensor dout = random_rows(layout.tokens, 60, 8);
  set_compute_threads(1);
  const Outcome one = run(qkv, layout, dout);
  set_compute_threads(2);
  const Outcome two = run(qkv, layout, dout);
  set_compute_threads(1);
  expect_close(two.out, one.out.to(at::kDouble));
  expect_close(two.dqkv, one.dqkv.to(at::kDouble));
}

// The scores exist by blocks of 128 queries of a segment, never for all pairs of tokens.
TEST(Attention, TheScoresOfAllTokensNeverExistAtOnce) {
  const auto layout = packed({400, 400});
  const Tensor qkv = random_rows(layout.tokens, kShape.fused_width(), 10);
  const Tensor dout = random_rows(layout.tokens, 60, 11);
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  run(qkv, layout, dout);
  const auto elements = meter.largest().bytes / 4;
  EXPECT_GE(elements, kShape.query_heads * 16 * 400);  // the last block's
  EXPECT_LE(elements, kShape.query_heads * 128 * 400);
}

TEST(Attention, WithACacheEqualsWithout) {
  const auto layout = packed({150});
  const Tensor qkv = random_rows(150, kShape.fused_width(), 9);
  const Tensor want = naive(qkv.to(at::kDouble), layout);
  const at::NoGradGuard no_grad;
  KeyValueCache cache(150, kShape);
  for (const auto& [begin, count] : {std::pair{0, 140}, {140, 1}, {141, 9}})
    expect_close(cached_attention(qkv.narrow(0, begin, count), cache, table(), kShape),
                 want.narrow(0, begin, count));
  EXPECT_EQ(cache.length, 150);
  EXPECT_THROW(cached_attention(qkv.narrow(0, 0, 1), cache, table(), kShape), BrokenInvariant);
}

// A tensor that isn't the layout's would be read and written out of bounds.
TEST(Attention, AnotherNumberOfTokensThanTheLayoutsIsADefect) {
  for (const std::int64_t rows : {9, 11})
    EXPECT_THROW(
        attention(random_rows(rows, kShape.fused_width(), 1), packed({10}), table(), kShape),
        BrokenInvariant);
  EXPECT_THROW(attention(random_rows(10, 7, 1), packed({10}), table(), kShape), BrokenInvariant);
  PackedLayout beyond;
  beyond.append(10, 503);
  EXPECT_THROW(attention(random_rows(10, kShape.fused_width(), 1), beyond, table(), kShape),
               BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::nn
