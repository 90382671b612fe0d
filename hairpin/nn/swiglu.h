// SwiGLU over the rows of a matrix, forward and backward, for the operations it is fused into.
#pragma once

#include "hairpin/tensor/tensor.h"

namespace hairpin::nn {

// gate_up [T, 2 n], holding gate, then up -> silu(gate) * up [T, n].
Tensor swiglu(const Tensor& gate_up);
// Given dh [T, n]: the gradient of gate_up [T, 2 n].
Tensor swiglu_backward(const Tensor& dh, const Tensor& gate_up);

}  // namespace hairpin::nn
