// Parameters that several tensor-parallel ranks hold, while each computes a share of the gradient:
// norms under sequence parallelism, and K/V heads that are fewer than the ranks.
#pragma once

#include "hairpin/nn/parameter.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::parallel {

// Sums each partial part's gradient over its copies; the bucket's gradients are complete before
// (Bucket::complete_gradients). One all-reduce a group, whatever the number of parts. Afterwards
// all copies hold the same bits. Nothing moves when no part is partial.
void sum_partial_gradients(nn::Bucket& bucket, const TensorParallel& tp);

}  // namespace hairpin::parallel
