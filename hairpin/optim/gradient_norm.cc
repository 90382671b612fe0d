#include "hairpin/optim/gradient_norm.h"

#include <algorithm>
#include <cmath>

#include "hairpin/optim/optimizer_kernels.h"

namespace hairpin::optim {

double bucket_sum_of_squares(const nn::Bucket& bucket) {
  const Tensor gradients = bucket.gradients();
  return sum_of_squares(gradients.const_data_ptr<float>(), gradients.numel());
}

double global_norm(const std::vector<double>& sums_by_segment) {
  double total = 0;
  for (const double sum : sums_by_segment) total += sum;
  return std::sqrt(total);
}

double clip_scale(double norm, std::optional<double> max_norm) {
  return max_norm ? std::min(1.0, *max_norm / (norm + 1e-6)) : 1.0;
}

}  // namespace hairpin::optim
