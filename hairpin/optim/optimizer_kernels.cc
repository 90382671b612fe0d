#include "hairpin/optim/optimizer_kernels.h"

#include <cmath>

#include "hairpin/base/target_clones.h"

namespace hairpin::optim {

HAIRPIN_CLONES void adamw(float* __restrict p, float* __restrict m, float* __restrict v,
                          const float* __restrict g, std::int64_t n, const AdamWScalars& scalars) {
  const AdamWScalars s = scalars;
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * s.gradient_scale;
    const float first = m[i] + (gradient - m[i]) * s.one_minus_beta1;
    const float second = v[i] * s.beta2 + gradient * gradient * s.one_minus_beta2;
    m[i] = first;
    v[i] = second;
    const float denominator = std::sqrt(second) / s.root_correction2 + s.epsilon;
    p[i] = p[i] * s.decay - s.step_size * (first / denominator);
  }
}

HAIRPIN_CLONES void sgd(float* __restrict p, float* __restrict m, const float* __restrict g,
                        std::int64_t n, const SgdScalars& scalars) {
  const SgdScalars s = scalars;
  if (m == nullptr) {
    for (std::int64_t i = 0; i < n; ++i)
      p[i] -= s.learning_rate * (g[i] * s.gradient_scale + p[i] * s.weight_decay);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    m[i] = m[i] * s.momentum + (g[i] * s.gradient_scale + p[i] * s.weight_decay);
    p[i] -= s.learning_rate * m[i];
  }
}

HAIRPIN_CLONES double sum_of_squares(const float* g, std::int64_t n) {
  double lanes[16] = {};
  for (std::int64_t i = 0; i < n; i += 16)
    for (int lane = 0; lane < 16; ++lane) {
      const auto value = static_cast<double>(g[i + lane]);
      lanes[lane] += value * value;
    }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace hairpin::optim
