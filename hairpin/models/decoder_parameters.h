// The parameters of a dense decoder's segments and their Hugging Face names: q, k and v are one
// fused parameter, and so are gate and up.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/arch/architecture.h"
#include "hairpin/nn/parameter.h"

namespace hairpin::models {

std::vector<nn::ParameterSpec> embedding_parameters(const arch::Architecture& a);
// In this order: input norm, qkv, [qkv bias], o, [o bias], post-attention norm, gate_up, down.
std::vector<nn::ParameterSpec> layer_parameters(const arch::Architecture& a, std::int64_t layer);
// Final norm, then the output head unless it is tied.
std::vector<nn::ParameterSpec> head_parameters(const arch::Architecture& a);

}  // namespace hairpin::models
