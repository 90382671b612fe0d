// Moving between whole tensors and a tensor-parallel rank's share of them, for operators that stand
// alone and for the cuts of a stage. Each is differentiable; its backward is the named inverse. On
// one rank all return x itself.
#pragma once

#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::parallel {

// x [T, n], equal on all ranks -> this rank's columns mesh::share(n, t, r). Backward gathers.
Tensor scatter_columns(const Tensor& x, const TensorParallel& tp);
// x [T, this rank's share of n] -> [T, n]. Backward scatters.
Tensor gather_columns(const Tensor& x, std::int64_t n, const TensorParallel& tp);
// x [T, n], equal on all ranks -> this rank's rows mesh::share(T, t, r). Backward gathers.
Tensor scatter_rows(const Tensor& x, const TensorParallel& tp);
// x [this rank's share of T, n] -> [T, n]. Backward scatters.
Tensor gather_rows(const Tensor& x, std::int64_t tokens, const TensorParallel& tp);

}  // namespace hairpin::parallel
