// Linear layers over a tensor-parallel group: the twins of nn/linear.h, which they are on one rank.
//
// `tokens` is the microbatch's T; rows [R, .] are tp.rows(tokens). Weights are this rank's shards:
// a column operator's W [out / t, in], its bias [out / t]; a row operator's W [out, in / t].
// Differentiable in x; gradients of the shards go to their sinks. In backward a column operator's
// communication (of the input's gradient) runs while it computes its weight's gradient.
#pragma once

#include "hairpin/nn/parameter.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::parallel {

// x [R, in] -> x W^T (+ b) [T, out / t].
Tensor column_linear(const Tensor& x, std::int64_t tokens, nn::Parameter& weight,
                     nn::Parameter* bias, const TensorParallel& tp);

// x [R, in] -> RMSNorm(x) W^T (+ b) [T, out / t]. The norm is applied to this rank's rows only.
Tensor norm_column_linear(const Tensor& x, std::int64_t tokens, nn::Parameter& norm, double eps,
                          nn::Parameter& weight, nn::Parameter* bias, const TensorParallel& tp);

// x [T, in / t] -> sum over ranks of x W^T, (+ b, once) [R, out]. `bias` [out] is whole on each
// rank.
Tensor row_linear(const Tensor& x, nn::Parameter& weight, nn::Parameter* bias,
                  const TensorParallel& tp);

// gate_up [T, 2 in / t] (this rank's gate columns, then its up columns) ->
// sum over ranks of (silu(gate) * up) W^T [R, out].
Tensor swiglu_row_linear(const Tensor& gate_up, nn::Parameter& weight, const TensorParallel& tp);

}  // namespace hairpin::parallel
