// Final norm, output head and cross-entropy in one operation, by chunks of tokens: the logits of
// all tokens never exist at once, and tokens without a target cost nothing.
#pragma once

#include <cstdint>
#include <span>

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

struct LossTargets {
  std::span<const std::int32_t> targets;  // [T] the token to predict, or -1: none
  std::span<const float> weights;         // [T] each loss's weight in the step's objective
  std::int64_t chunk = 256;  // tokens whose logits exist at a time; part of the contract
};

// x [T, hidden] -> scalar fp64: sum over tokens of weight * -log softmax(RMSNorm(x) W^T)[target].
//
// The loss being a step's last operation, its gradient is known to be 1: where gradients are
// enabled, those of the weights are sunk and that of x computed here, while a chunk's logits exist;
// backward only hands the latter over (docs/adr/0003). `targets` need not outlive the call.
Tensor head_loss(const Tensor& x, Parameter& norm, double eps, Parameter& output,
                 const LossTargets& targets);

// RMSNorm(x) W^T -> [T, vocab], for generation and tests. No gradients.
Tensor head_logits(const Tensor& x, Parameter& norm, double eps, Parameter& output);

}  // namespace hairpin::nn
