// Token embedding: rows of a table [vocab, hidden].
#pragma once

#include <cstdint>
#include <span>

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

// tokens [T], each in [0, vocab) -> [T, hidden]. The table's gradient is sunk in token order.
Tensor embedding(std::span<const std::int32_t> tokens, Parameter& table);

}  // namespace hairpin::nn
