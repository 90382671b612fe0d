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

std::int64_t working_of_layer(const Architecture& a, const MicrobatchSize& m,
                              const TensorParallelRank& tp) {
  const Slice n(a, tp);
  const auto whole = m.tokens * n.hidden, inner = m.tokens * n.inner, fused = m.tokens * n.fused;
  const auto own = rows(m.tokens, tp) * n.hidden;
  const auto block = std::min(kQueryBlock, m.longest_sample);
  const auto scores = n.queries / a.head_dim * block * m.longest_sample;
  const auto of_down = 3 * inner;       // gradients of SwiGLU's output, gate and up
  const auto of_gate_up = whole + own;  // of the norm's output and input, or that output
  // The gradients of q, k and v, and then those of their projection, or a block's probabilities,
  // their gradients, and those of its output and its queries. What the MLP kept is gone by then.
  const auto of_attention = fused + std::max(fused, 2 * (scores + block * n.queries)) - 2 * inner -
                            (scattered(tp) ? own : 0);
  const auto forward = scattered(tp) ? inner + whole : inner;  // SwiGLU's output, partial sums
  return kFloat * std::max({of_down, of_gate_up, of_attention, forward});
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
  std::int64_t bytes = 0;
  for (const auto& tensor : saved_tensors(a, segment, tokens, tp)) bytes += tensor.bytes;
  return bytes;
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
