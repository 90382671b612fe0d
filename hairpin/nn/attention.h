// Causal grouped-query attention over packed segments, with rotary positions.
#pragma once

#include "hairpin/nn/layout.h"
#include "hairpin/nn/rotary.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::nn {

// qkv [T, (Q + 2K) d] -> [T, Q d]; softmax(q k^T / sqrt(d)) v within each segment, each token
// seeing itself and what is before it. Differentiable in qkv; keeps the rotated q, k, v and nothing
// of size T x T: the scores are computed by blocks of queries, again in backward.
// `layout` and `table` must outlive the graph.
Tensor attention(const Tensor& qkv, const PackedLayout& layout, const RotaryTable& table,
                 const HeadShape& shape);

// Keys and values of one sequence, for generation.
struct KeyValueCache {
  KeyValueCache(std::int64_t capacity, const HeadShape& shape);  // capacity in tokens
  Tensor k, v;                                                   // [K, capacity, d]
  std::int64_t length = 0;
};

// Attention of T further tokens of the cached sequence, which they are appended to. No gradients.
Tensor cached_attention(const Tensor& qkv, KeyValueCache& cache, const RotaryTable& table,
                        const HeadShape& shape);

}  // namespace hairpin::nn
