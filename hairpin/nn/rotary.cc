#include "hairpin/nn/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sin.h>

#include <algorithm>
#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

constexpr std::int64_t kRowGrain = 32;

// Calls visit(token, cos row, sin row) for every token.
template <class Visit>
void for_each_token(const PackedLayout& layout, const RotaryTable& table, Visit visit) {
  const auto half = table.cos.size(1);
  const float* cos = table.cos.data_ptr<float>();
  const float* sin = table.sin.data_ptr<float>();
  for (const auto& segment : layout.segments) {
    HAIRPIN_CHECK(segment.first_position + segment.length <= table.cos.size(0),
                  "position {} beyond the rotary table's {}",
                  segment.first_position + segment.length, table.cos.size(0));
    parallel_rows(segment.length, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto row = (segment.first_position + i) * half;
        visit(segment.begin + i, cos + row, sin + row);
      }
    });
  }
}

}  // namespace

RotaryTable::RotaryTable(std::int64_t positions, std::int64_t head_dim, double theta) {
  const Tensor exponent =
      at::arange(0, head_dim, 2, at::kFloat).div_(static_cast<double>(head_dim));
  const Tensor inverse_frequency = at::reciprocal(at::pow(theta, exponent));
  const Tensor angle = at::outer(at::arange(positions, at::kFloat), inverse_frequency);
  cos = at::cos(angle);
  sin = at::sin(angle);
}

Heads split_and_rotate(const Tensor& qkv, const PackedLayout& layout, const RotaryTable& table,
                       const HeadShape& shape) {
  const auto T = qkv.size(0), K = shape.kv_heads, G = shape.group(), d = shape.head_dim;
  HAIRPIN_CHECK(T == layout.tokens && qkv.size(1) == shape.fused_width(),
                "qkv is {} x {}, its layout has {} tokens, its heads are {} wide", T, qkv.size(1),
                layout.tokens, shape.fused_width());
  Heads heads{at::empty({K, T, G, d}, at::kFloat), at::empty({K, T, d}, at::kFloat),
              at::empty({K, T, d}, at::kFloat)};
  const float* in = fp32_span(qkv).data();
  float *q = heads.q.data_ptr<float>(), *k = heads.k.data_ptr<float>(),
        *v = heads.v.data_ptr<float>();
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  for_each_token(layout, table, [&](std::int64_t t, const float* cos, const float* sin) {
    const float* row = in + t * shape.fused_width();
    for (std::int64_t h = 0; h < K; ++h) {
      for (std::int64_t g = 0; g < G; ++g)
        rotate_row(q + ((h * T + t) * G + g) * d, row + (h * G + g) * d, cos, sin, 1.0f, scale, d);
      const float* key = row + (K * G + h) * d;
      rotate_row(k + (h * T + t) * d, key, cos, sin, 1.0f, 1.0f, d);
      std::copy_n(key + K * d, d, v + (h * T + t) * d);
    }
  });
  return heads;
}

Tensor unrotate_and_fuse(const Heads& gradients, const PackedLayout& layout,
                         const RotaryTable& table, const HeadShape& shape) {
  const auto T = layout.tokens, K = shape.kv_heads, G = shape.group(), d = shape.head_dim;
  Tensor result = at::empty({T, shape.fused_width()}, at::kFloat);
  float* out = result.data_ptr<float>();
  const float *dq = fp32_span(gradients.q).data(), *dk = fp32_span(gradients.k).data(),
              *dv = fp32_span(gradients.v).data();
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  for_each_token(layout, table, [&](std::int64_t t, const float* cos, const float* sin) {
    float* row = out + t * shape.fused_width();
    for (std::int64_t h = 0; h < K; ++h) {
      for (std::int64_t g = 0; g < G; ++g)
        rotate_row(row + (h * G + g) * d, dq + ((h * T + t) * G + g) * d, cos, sin, -1.0f, scale,
                   d);
      float* key = row + (K * G + h) * d;
      rotate_row(key, dk + (h * T + t) * d, cos, sin, -1.0f, 1.0f, d);
      std::copy_n(dv + (h * T + t) * d, d, key + K * d);
    }
  });
  return result;
}

}  // namespace hairpin::nn
