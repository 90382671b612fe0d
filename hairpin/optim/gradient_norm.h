// One global gradient norm for both sites. Terms are summed per segment in double, and segments are
// joined in model order, so neither the cut nor the number of ranks changes a bit.
#pragma once

#include <optional>
#include <vector>

#include "hairpin/mesh/share.h"
#include "hairpin/nn/parameter.h"

namespace hairpin::optim {

enum class NormType { one, two, infinity };

// What a bucket's whole gradients g contribute to the norm: the sum of |g|, the sum of g^2 or the
// largest |g|, over the elements `owned` of the flat buffer. Parts that another rank holds too
// count where `copy` is 0 only. Not finite if one of the elements is not: NaN wins in all types.
double norm_term(const nn::Bucket& bucket, mesh::Range owned, NormType type);

// The term of two terms' elements together: their sum, or for `infinity` the larger. NaN wins.
double join_terms(double a, double b, NormType type);

// The norm from all segments' terms, in model order. NaN wins.
double global_norm(const std::vector<double>& terms_by_segment, NormType type);

// What every gradient is multiplied with: min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_ does; 1 without a bound.
double clip_scale(double norm, std::optional<double> max_norm);

}  // namespace hairpin::optim
