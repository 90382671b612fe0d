// Rotary position embedding: the table of angles, and the split of a fused projection into rotated
// queries, rotated keys and values (and its inverse for gradients).
#pragma once

#include <cstdint>

#include "hairpin/nn/layout.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::nn {

// cos and sin [positions, head_dim / 2] of position * theta^(-2i / head_dim), in fp32 as
// `transformers` computes them.
struct RotaryTable {
  RotaryTable(std::int64_t positions, std::int64_t head_dim, double theta);
  Tensor cos, sin;
};

// Grouped-query attention: G = query_heads / kv_heads queries share a key/value head.
struct HeadShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;

  std::int64_t group() const { return query_heads / kv_heads; }
  std::int64_t fused_width() const { return (query_heads + 2 * kv_heads) * head_dim; }
};

// q [K, T, G, d], k and v [K, T, d] with K = kv_heads: a block of tokens of one head is contiguous.
struct Heads {
  Tensor q, k, v;
};

// From qkv [T, fused_width], rows holding all queries, all keys, all values. Queries are also
// scaled by 1 / sqrt(d).
Heads split_and_rotate(const Tensor& qkv, const PackedLayout& layout, const RotaryTable& table,
                       const HeadShape& shape);
// The gradient of qkv from those of its heads.
Tensor unrotate_and_fuse(const Heads& gradients, const PackedLayout& layout,
                         const RotaryTable& table, const HeadShape& shape);

}  // namespace hairpin::nn
