#include "hairpin/arch/tensor_memory.h"

#include <algorithm>

#include "hairpin/arch/divide.h"
#include "hairpin/mesh/share.h"

namespace hairpin::arch {
namespace {

using Kind = SegmentSpec::Kind;

constexpr std::int64_t kFloat = 4, kTokenId = 4, kIndex = 8, kLoss = 8;  // bytes
constexpr std::int64_t kQueryBlock = 128;  // queries whose scores exist at a time
constexpr std::int64_t kAlignment = 16;    // elements: parameters and ZeRO's shares start on them

// The sizes of one rank's slice.
struct Slice {
  std::int64_t hidden, inner, vocab, queries, fused;  // queries, fused: heads times head_dim

  Slice(const Architecture& a, const TensorParallelRank& tp)
      : hidden(a.hidden_size),
        inner(a.intermediate_size / tp.ranks),
        vocab(mesh::share(a.vocab_size, tp.ranks, tp.rank).count),
        queries(a.num_attention_heads / tp.ranks * a.head_dim),
        fused(queries + 2 * key_value_heads_of_rank(a, tp.ranks) * a.head_dim) {}
};

bool scattered(const TensorParallelRank& tp) { return tp.sequence_parallel && tp.ranks > 1; }

// Of T rows between operators, those on this rank.
std::int64_t rows(std::int64_t tokens, const TensorParallelRank& tp) {
  return scattered(tp) ? mesh::share(tokens, tp.ranks, tp.rank).count : tokens;
}

std::vector<SavedTensor> saved_by_layer(const Slice& n, std::int64_t tokens, std::int64_t own_rows,
                                        bool sequence) {
  const auto floats = [](std::int64_t count) { return count * kFloat; };
  const auto normed = sequence ? floats(own_rows * n.hidden) : 0;
  return {{"1/rms of the input", floats(own_rows)},
          {"norm's output", normed},
          {"rotated q, k and v", floats(tokens * n.fused)},
          {"attention's output", floats(tokens * n.queries)},
          {"middle", floats(own_rows * n.hidden)},
          {"1/rms of the middle", floats(own_rows)},
          {"second norm's output", normed},
          {"gate and up", floats(tokens * 2 * n.inner)},
          {"output", floats(own_rows * n.hidden)}};
}

// The sizes of a layer's tensors for one microbatch, in elements.
struct LayerSizes {
  std::int64_t whole, own, inner, fused, queries;  // own: this rank's rows of the hidden size

  LayerSizes(const Slice& n, const MicrobatchSize& m, const TensorParallelRank& tp)
      : whole(m.tokens * n.hidden),
        own(rows(m.tokens, tp) * n.hidden),
        inner(m.tokens * n.inner),
        fused(m.tokens * n.fused),
        queries(m.tokens * n.queries) {}
};

// The gradients of q, k and v, and then those of their projection, or a block's probabilities,
// their gradients, and those of its output and its queries.
std::int64_t of_attention(const Architecture& a, const Slice& n, const MicrobatchSize& m) {
  const auto fused = m.tokens * n.fused;
  const auto block = std::min(kQueryBlock, m.longest_sample);
  const auto scores = n.queries / a.head_dim * block * m.longest_sample;
  return fused + std::max(fused, 2 * (scores + block * n.queries));
}

std::int64_t forward_of_layer(const Architecture& a, const MicrobatchSize& m,
                              const TensorParallelRank& tp) {
  const LayerSizes n(Slice(a, tp), m, tp);
  return kFloat * (scattered(tp) ? n.inner + n.whole : n.inner);  // SwiGLU's output, partial sums
}

std::int64_t working_of_layer(const Architecture& a, const MicrobatchSize& m,
                              const TensorParallelRank& tp) {
  const Slice slice(a, tp);
  const LayerSizes n(slice, m, tp);
  const auto of_down = 3 * n.inner;         // gradients of SwiGLU's output, gate and up
  const auto of_gate_up = n.whole + n.own;  // of the norm's output and input, or that output
  // What the MLP kept is gone by then.
  const auto attention = of_attention(a, slice, m) - 2 * n.inner - (scattered(tp) ? n.own : 0);
  return std::max(kFloat * std::max({of_down, of_gate_up, attention}), forward_of_layer(a, m, tp));
}

// As above with nothing pending let go: SwiGLU's output and the gradients of gate and up, of the
// layer's output and of the middle, and without sequence parallelism the norms' outputs.
std::int64_t input_gradient_of_layer(const Architecture& a, const MicrobatchSize& m,
                                     const TensorParallelRank& tp) {
  const Slice slice(a, tp);
  const LayerSizes n(slice, m, tp);
  const auto of_down = n.own + 4 * n.inner;
  const auto attention = n.inner + n.own + n.queries + of_attention(a, slice, m);
  const auto of_qkv = n.inner + n.own + n.own + n.whole;
  if (scattered(tp)) return kFloat * std::max({of_down, attention, of_qkv});
  return kFloat * std::max({of_down, attention + n.own, of_qkv + 2 * n.own});
}

// The head computes its input's gradient in forward.
std::int64_t working_of_head(const Architecture& a, const MicrobatchSize& m,
                             const TensorParallelRank& tp) {
  const Slice n(a, tp);
  const auto trained = m.trained_tokens, own = std::min(trained, rows(m.tokens, tp));
  // The selected rows and their norm; their gradient and, of this rank's rows, that of the input.
  const auto gradients = scattered(tp) ? std::max(trained, 2 * own) : 2 * trained;
  const auto floats =
      (2 * own + gradients) * n.hidden + own + std::min(trained, m.loss_chunk) * n.vocab;
  return kFloat * floats + kIndex * (trained + (scattered(tp) ? own : 0));
}

std::int64_t padded(std::int64_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

// Elements of a segment's flat buffer.
std::int64_t bucket_elements(const Architecture& a, Kind segment, bool holds_table,
                             const Slice& n) {
  switch (segment) {
    case Kind::embedding: return padded(n.vocab * n.hidden);
    case Kind::head: return padded(n.hidden) + (holds_table ? padded(n.vocab * n.hidden) : 0);
    case Kind::layer: break;
  }
  const auto qkv = padded(n.fused * n.hidden) + (a.qkv_bias ? padded(n.fused) : 0);
  const auto output = padded(n.hidden * n.queries) + (a.output_bias ? padded(n.hidden) : 0);
  const auto mlp = padded(2 * n.inner * n.hidden) + padded(n.hidden * n.inner);
  return 2 * padded(n.hidden) + qkv + output + mlp;
}

std::int64_t sum(const std::vector<SavedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

std::int64_t owned_elements(std::int64_t total, const Replicas& of) {
  if (of.zero == 0) return total;
  return mesh::share(total / kAlignment, of.replicas, of.replica).count * kAlignment;
}

}  // namespace

std::vector<SavedTensor> saved_tensors(const Architecture& a, Kind segment, std::int64_t tokens,
                                       const TensorParallelRank& tp) {
  const auto own_rows = rows(tokens, tp), own = stage_tensor_bytes(a, tokens, tp);
  switch (segment) {
    case Kind::embedding: return {{"token ids", tokens * kTokenId}, {"output", own}};
    case Kind::head: return {{"gradient of the input", own}, {"loss", kLoss}};
    case Kind::layer: break;
  }
  return saved_by_layer(Slice(a, tp), tokens, own_rows, scattered(tp));
}

std::int64_t saved_bytes(const Architecture& a, Kind segment, std::int64_t tokens,
                         const TensorParallelRank& tp) {
  return sum(saved_tensors(a, segment, tokens, tp));
}

// The factors of each matrix product; the head's gradients are made in its forward, the embedding's
// and those of norms and biases at once.
std::vector<SavedTensor> pending_tensors(const Architecture& a, Kind segment, std::int64_t tokens,
                                         const TensorParallelRank& tp) {
  if (segment != Kind::layer) return {};
  const Slice n(a, tp);
  const auto own = stage_tensor_bytes(a, tokens, tp);
  const auto wide = [&](std::int64_t columns) { return tokens * columns * kFloat; };
  return {{"norm's output", own},
          {"gradient of q, k and v", wide(n.fused)},
          {"attention's output", wide(n.queries)},
          {"gradient of the middle", own},
          {"second norm's output", own},
          {"gradient of gate and up", wide(2 * n.inner)},
          {"SwiGLU's output", wide(n.inner)},
          {"gradient of the output", own}};
}

std::int64_t pending_bytes(const Architecture& a, Kind segment, std::int64_t tokens,
                           const TensorParallelRank& tp) {
  return sum(pending_tensors(a, segment, tokens, tp));
}

std::int64_t stage_tensor_bytes(const Architecture& a, std::int64_t tokens,
                                const TensorParallelRank& tp) {
  return rows(tokens, tp) * a.hidden_size * kFloat;
}

std::int64_t working_bytes(const Architecture& a, Kind segment, const MicrobatchSize& microbatch,
                           const TensorParallelRank& tp) {
  switch (segment) {
    case Kind::embedding: return scattered(tp) ? microbatch.tokens * a.hidden_size * kFloat : 0;
    case Kind::head: return working_of_head(a, microbatch, tp);
    case Kind::layer: break;
  }
  return working_of_layer(a, microbatch, tp);
}

std::int64_t forward_working_bytes(const Architecture& a, Kind segment,
                                   const MicrobatchSize& microbatch, const TensorParallelRank& tp) {
  if (segment == Kind::layer) return forward_of_layer(a, microbatch, tp);
  return working_bytes(a, segment, microbatch, tp);
}

std::int64_t input_gradient_working_bytes(const Architecture& a, Kind segment,
                                          const MicrobatchSize& microbatch,
                                          const TensorParallelRank& tp) {
  return segment == Kind::layer ? input_gradient_of_layer(a, microbatch, tp) : 0;
}

std::int64_t rotary_table_bytes(const Architecture& a, std::int64_t positions) {
  return positions * a.head_dim * kFloat;
}

ParameterMemory parameter_memory(const Architecture& a, const std::vector<SegmentRange>& held,
                                 const TensorParallelRank& tp, const Replicas& replicas) {
  const auto specs = segments(a);
  const auto holds_embedding =
      std::ranges::any_of(held, [](const auto& range) { return range.begin == 0; });
  const bool shares_table = a.tie_word_embeddings && holds_embedding;
  const Slice n(a, tp);
  ParameterMemory memory;
  for (const auto& range : held)
    for (auto i = range.begin; i < range.end; ++i) {
      const auto kind = specs.at(static_cast<std::size_t>(i)).kind;
      const auto elements = bucket_elements(a, kind, !shares_table, n);
      memory.weights += elements * kFloat;
      memory.gradients += elements * kFloat;
      memory.optimizer += replicas.moments * owned_elements(elements, replicas) * kFloat;
      // The second use of a tied table adds up its gradients apart.
      if (kind == Kind::head && shares_table) memory.gradients += n.vocab * n.hidden * kFloat;
    }
  return memory;
}

}  // namespace hairpin::arch
