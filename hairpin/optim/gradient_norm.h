// One global gradient norm for both sites. Squares are summed per segment in double, and segments
// are added in model order, so neither the cut nor the number of ranks changes a bit.
#pragma once

#include <optional>
#include <vector>

#include "hairpin/nn/parameter.h"

namespace hairpin::optim {

// Sum of squares of a bucket's whole gradients.
double bucket_sum_of_squares(const nn::Bucket& bucket);

// sqrt of the sum over all segments, in model order.
double global_norm(const std::vector<double>& sums_by_segment);

// What every gradient is multiplied with: min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_ does; 1 without a bound.
double clip_scale(double norm, std::optional<double> max_norm);

}  // namespace hairpin::optim
