#include "hairpin/nn/attention.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "hairpin/base/check.h"
#include "hairpin/nn/kept.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t kBlock = 128;  // queries whose scores exist at a time
constexpr std::int64_t kRowGrain = 16;

// A run of query tokens [begin, begin + count) with the keys [key_begin, key_begin + keys) of the
// same segment that they may see; `first_valid` keys are visible to the first of them.
struct Block {
  std::int64_t begin, count, key_begin, keys, first_valid;
};

template <class Visit>
void for_each_block(const PackedLayout& layout, Visit visit) {
  for (const auto& segment : layout.segments)
    for (std::int64_t i = 0; i < segment.length; i += kBlock) {
      const auto count = std::min(kBlock, segment.length - i);
      visit(Block{segment.begin + i, count, segment.begin, i + count, i + 1});
    }
}

// Rows of q or of a gradient shaped like it, [K, T, G, d] -> [K, count * G, d].
Tensor query_rows(const Tensor& q, const Block& block) {
  return q.narrow(1, block.begin, block.count)
      .view({q.size(0), block.count * q.size(2), q.size(3)});
}
Tensor key_rows(const Tensor& k, const Block& block) {
  return k.narrow(1, block.key_begin, block.keys);
}

// softmax(q k^T) of a block: [K, count * G, keys].
Tensor probabilities(const Tensor& q, const Tensor& k, const Block& block, std::int64_t group) {
  Tensor scores = at::bmm(q, k.transpose(1, 2));
  float* s = fp32_span(scores).data();
  const auto rows_per_head = scores.size(1), keys = scores.size(2);
  parallel_rows(scores.size(0) * rows_per_head, kRowGrain,
                [&](std::int64_t begin, std::int64_t end) {
                  for (auto r = begin; r < end; ++r) {
                    const auto token = r % rows_per_head / group;
                    masked_softmax_row(s + r * keys, block.first_valid + token, keys);
                  }
                });
  return scores;
}

// dp becomes the gradient of the scores.
void scores_backward(Tensor& dp, const Tensor& p) {
  float* gradient = fp32_span(dp).data();
  const float* probability = fp32_span(p).data();
  const auto keys = p.size(2);
  parallel_rows(p.size(0) * p.size(1), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto r = begin; r < end; ++r)
      softmax_backward_row(gradient + r * keys, probability + r * keys, keys);
  });
}

// Token-major rows [T, Q d] of a block seen as heads [K, count, G, d].
Tensor block_as_heads(const Tensor& rows, const Block& block, std::int64_t K, std::int64_t G) {
  return rows.narrow(0, block.begin, block.count)
      .view({block.count, K, G, rows.size(1) / (K * G)})
      .permute({1, 0, 2, 3});
}

Tensor attend(const Heads& heads, const PackedLayout& layout) {
  const auto K = heads.q.size(0), T = heads.q.size(1), G = heads.q.size(2), d = heads.q.size(3);
  Tensor out = at::empty({T, K * G * d}, at::kFloat);
  for_each_block(layout, [&](const Block& block) {
    const Tensor p = probabilities(query_rows(heads.q, block), key_rows(heads.k, block), block, G);
    block_as_heads(out, block, K, G)
        .copy_(at::bmm(p, key_rows(heads.v, block)).view({K, block.count, G, d}));
  });
  return out;
}

Heads attend_backward(const Tensor& dout, const Heads& heads, const PackedLayout& layout) {
  const auto K = heads.q.size(0), G = heads.q.size(2), d = heads.q.size(3);
  Heads gradients{at::empty_like(heads.q), at::zeros_like(heads.k), at::zeros_like(heads.v)};
  for_each_block(layout, [&](const Block& block) {
    const Tensor q = query_rows(heads.q, block), k = key_rows(heads.k, block),
                 v = key_rows(heads.v, block);
    const Tensor p = probabilities(q, k, block, G);
    const Tensor dblock =
        block_as_heads(dout, block, K, G).contiguous().view({K, block.count * G, d});
    key_rows(gradients.v, block).add_(at::bmm(p.transpose(1, 2), dblock));
    Tensor dscores = at::bmm(dblock, v.transpose(1, 2));
    scores_backward(dscores, p);
    query_rows(gradients.q, block).copy_(at::bmm(dscores, k));
    key_rows(gradients.k, block).add_(at::bmm(dscores.transpose(1, 2), q));
  });
  return gradients;
}

struct Attention : Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& qkv, const PackedLayout* layout,
                        const RotaryTable* table, const HeadShape* shape) {
    const Heads heads = split_and_rotate(qkv, *layout, *table, *shape);
    context->save_for_backward({heads.q, heads.k, heads.v});
    keep(context, "layout", layout);
    keep(context, "table", table);
    keep(context, "shape", shape);
    return attend(heads, *layout);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto& layout = *kept<const PackedLayout>(context, "layout");
    const Heads gradients =
        attend_backward(grads[0].contiguous(), {saved[0], saved[1], saved[2]}, layout);
    return {unrotate_and_fuse(gradients, layout, *kept<const RotaryTable>(context, "table"),
                              *kept<const HeadShape>(context, "shape")),
            Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor attention(const Tensor& qkv, const PackedLayout& layout, const RotaryTable& table,
                 const HeadShape& shape) {
  return Attention::apply(qkv, &layout, &table, &shape);
}

KeyValueCache::KeyValueCache(std::int64_t capacity, const HeadShape& shape)
    : k(at::empty({shape.kv_heads, capacity, shape.head_dim}, at::kFloat)), v(at::empty_like(k)) {}

Tensor cached_attention(const Tensor& qkv, KeyValueCache& cache, const RotaryTable& table,
                        const HeadShape& shape) {
  const auto count = qkv.size(0), past = cache.length;
  HAIRPIN_CHECK(past + count <= cache.k.size(1), "{} tokens in a cache of {}", past + count,
                cache.k.size(1));
  PackedLayout layout;
  layout.append(count, past);
  const Heads fresh = split_and_rotate(qkv, layout, table, shape);
  cache.k.narrow(1, past, count).copy_(fresh.k);
  cache.v.narrow(1, past, count).copy_(fresh.v);
  cache.length = past + count;

  Tensor out = at::empty({count, shape.query_heads * shape.head_dim}, at::kFloat);
  const auto K = shape.kv_heads, G = shape.group();
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const auto rows = std::min(kBlock, count - i);
    const Block block{i, rows, 0, past + i + rows, past + i + 1};
    const Tensor p = probabilities(query_rows(fresh.q, block), key_rows(cache.k, block), block, G);
    block_as_heads(out, block, K, G)
        .copy_(at::bmm(p, key_rows(cache.v, block)).view({K, rows, G, shape.head_dim}));
  }
  return out;
}

}  // namespace hairpin::nn
