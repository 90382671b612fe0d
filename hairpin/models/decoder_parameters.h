// The parameters of a dense decoder's segments, their Hugging Face names (q, k and v are one fused
// parameter, and so are gate and up), and how a tensor-parallel group divides them:
//
//   embedding, output head   rows: shares of the vocabulary, uneven where it doesn't divide
//   q, k, v, gate, up        rows: whole heads, shares of the inner size; biases alike
//   o, down                  columns: those heads, that share
//   norms, o's bias          a copy on every rank
//
// With fewer K/V heads than ranks, t / K neighbouring ranks hold a copy of one.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/arch/architecture.h"
#include "hairpin/nn/parameter.h"
#include "hairpin/nn/rotary.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::models {

// The heads of this rank. The architecture allows tp's size (arch/divide.h).
nn::HeadShape local_heads(const arch::Architecture& a, const parallel::TensorParallel& tp);

std::vector<nn::ParameterSpec> embedding_parameters(const arch::Architecture& a,
                                                    const parallel::TensorParallel& tp);
// In this order: input norm, qkv, [qkv bias], o, [o bias], post-attention norm, gate_up, down.
std::vector<nn::ParameterSpec> layer_parameters(const arch::Architecture& a, std::int64_t layer,
                                                const parallel::TensorParallel& tp);
// Final norm, then the output head unless it is tied to an embedding of the same rank. Tied to
// another pipeline rank's it is a copy of that table, which counts there.
std::vector<nn::ParameterSpec> head_parameters(const arch::Architecture& a, bool holds_embedding,
                                               const parallel::TensorParallel& tp);

}  // namespace hairpin::models
