// The tokens of a microbatch that have a target: the only rows an output head computes.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/nn/head_loss.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::nn {

struct SelectedTokens {
  Tensor rows;  // [S] int64 indices into T, ascending
  std::vector<std::int32_t> targets;
  std::vector<float> weights;
};

// Every target is below `vocab`, or the call is a defect.
SelectedTokens select_tokens(const LossTargets& all, std::int64_t vocab);

}  // namespace hairpin::nn
