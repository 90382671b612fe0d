// Linear layers, y = f(x) W^T + b, with the cheap f in front fused in: its output is needed for the
// weight's gradient but is recomputed in backward instead of kept. Shapes: x [T, in], W [out, in],
// b [out], y [T, out]; fp32. Differentiable in x; the parameters' gradients go to their sinks.
#pragma once

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

// y = x W^T (+ b). Keeps x.
Tensor linear(const Tensor& x, Parameter& weight, Parameter* bias);

// y = RMSNorm(x) W^T (+ b). Keeps x and 1/rms [T].
Tensor norm_linear(const Tensor& x, Parameter& norm, double eps, Parameter& weight,
                   Parameter* bias);

// y = (silu(gate) * up) W^T, with gate_up [T, 2 in] holding gate, then up. Keeps gate_up.
Tensor swiglu_linear(const Tensor& gate_up, Parameter& weight);

}  // namespace hairpin::nn
