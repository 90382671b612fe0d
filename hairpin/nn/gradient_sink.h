// Where weights' gradients go. Layers' backward passes call these instead of returning gradients to
// autograd: one place for accumulation, and later for bucketed reduction and deferred (split
// backward) work. The first addition of a step overwrites, so nothing is zeroed beforehand.
#pragma once

#include <cstdint>
#include <functional>

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

// G += dy^T x, the weight's gradient of y = x W^T. dy [T, out], x [T, in].
void sink_matmul(Parameter& parameter, const Tensor& dy, const Tensor& x);

// G += sum over rows of dy [T, out], a bias's gradient, in row order.
void sink_row_sum(Parameter& parameter, const Tensor& dy);

// Lets `add` add into the accumulator itself, which is zeroed first when it holds nothing yet.
void sink_into(Parameter& parameter, const std::function<void(float* gradient)>& add);

}  // namespace hairpin::nn
