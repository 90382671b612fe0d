#include "hairpin/optim/optimizer_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hairpin/base/target_clones.h"

namespace hairpin::optim {
namespace {

constexpr auto kLanes = static_cast<std::int64_t>(Lanes{}.size());

// Inlined into each clone of its callers, so the loop over whole rows of lanes is vectorised.
template <typename Step>
[[gnu::always_inline]] inline void fold(Lanes& lanes, const float* array, mesh::Range run,
                                        const Step& step) {
  Lanes local = lanes;
  const auto one_by_one = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      auto& lane = local[static_cast<std::size_t>(i % kLanes)];
      lane = step(lane, array[i]);
    }
  };
  const auto first = std::min((run.begin + kLanes - 1) / kLanes * kLanes, run.end());
  const auto last = std::max(first, run.end() / kLanes * kLanes);
  one_by_one(run.begin, first);
  for (auto i = first; i < last; i += kLanes)
    for (std::size_t lane = 0; lane < local.size(); ++lane)
      local[lane] = step(local[lane], array[i + static_cast<std::int64_t>(lane)]);
  one_by_one(last, run.end());
  lanes = local;
}

}  // namespace

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

HAIRPIN_CLONES void add_absolutes(Lanes& lanes, const float* array, mesh::Range run) {
  fold(lanes, array, run,
       [](double sum, float x) { return sum + std::abs(static_cast<double>(x)); });
}

HAIRPIN_CLONES void add_squares(Lanes& lanes, const float* array, mesh::Range run) {
  fold(lanes, array, run, [](double sum, float x) {
    const auto value = static_cast<double>(x);
    return sum + value * value;
  });
}

double sum_of(const Lanes& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// The bits of |x| order as unsigned numbers do: finite, then infinity, then NaN.
HAIRPIN_CLONES float max_absolute(const float* array, mesh::Range run) {
  std::uint32_t most = 0;
  for (auto i = run.begin; i < run.end(); ++i)
    most = std::max(most, std::bit_cast<std::uint32_t>(array[i]) & 0x7fffffffU);
  return std::bit_cast<float>(most);
}

}  // namespace hairpin::optim
