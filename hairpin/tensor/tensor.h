// The one name for LibTorch's tensor, without LibTorch's umbrella header. Operations come from
// <ATen/ops/NAME.h> in the .cc files that use them.
#pragma once

#include <ATen/core/Tensor.h>

namespace hairpin {

using at::Tensor;

}  // namespace hairpin
