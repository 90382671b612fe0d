// RMSNorm over the rows of a matrix, forward and backward, for the operations it is fused into.
#pragma once

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

// 1/rms of each row of x [T, n] -> [T].
Tensor inverse_rms(const Tensor& x, double eps);
// y = x * inv * weight -> [T, n].
Tensor rms_norm(const Tensor& x, const Tensor& inv, const Parameter& norm);
// Given dy [T, n]: returns dx, sinks the weight's gradient.
Tensor rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& inv, Parameter& norm);

}  // namespace hairpin::nn
