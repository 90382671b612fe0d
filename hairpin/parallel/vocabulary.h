// Embedding and output head with their vocabulary divided over a tensor-parallel group: rank r
// holds rows mesh::share(vocab, t, r) of the tables, so nothing is padded. Twins of nn/embedding.h
// and nn/head_loss.h, which they are on one rank.
#pragma once

#include <span>

#include "hairpin/nn/head_loss.h"
#include "hairpin/nn/parameter.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::parallel {

// tokens [T], all of them on every rank -> [R, hidden], R = tp.rows(T).
Tensor vocabulary_embedding(std::span<const std::int32_t> tokens, std::int64_t vocab,
                            nn::Parameter& table, const TensorParallel& tp);

// As nn::head_loss: x [R, hidden] -> the scalar fp64 loss over all T tokens, equal bits on all
// ranks. `targets` are of all T tokens. No rank ever holds more logits than
// chunk x (its share of the vocabulary); of the logits only three numbers a token are exchanged.
Tensor vocabulary_head_loss(const Tensor& x, std::int64_t vocab, nn::Parameter& norm, double eps,
                            nn::Parameter& output, const nn::LossTargets& targets,
                            const TensorParallel& tp);

}  // namespace hairpin::parallel
