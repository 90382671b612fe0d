#include "hairpin/nn/row_kernels.h"

#include <cmath>

#include "hairpin/base/target_clones.h"
#include "hairpin/nn/exp.h"

// A helper must be part of each clone, or it would run with the narrowest vectors.
#define HAIRPIN_PART_OF_CLONE __attribute__((always_inline)) inline

namespace hairpin::nn {
namespace {

constexpr std::int64_t kLanes = 16;

// The one grouping of every sum along a row: element c goes to lane c % 16.
HAIRPIN_PART_OF_CLONE double lane_sum(const float* lanes) {
  double sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += static_cast<double>(lanes[i]);
  return sum;
}

HAIRPIN_PART_OF_CLONE float row_max(const float* s, std::int64_t n) {
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = -INFINITY;
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] = s[c + i] > lanes[i] ? s[c + i] : lanes[i];
  for (; c < n; ++c) lanes[0] = s[c] > lanes[0] ? s[c] : lanes[0];
  float best = lanes[0];
  for (int i = 1; i < kLanes; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
}

// s = e^(s - shift); returns the sum.
HAIRPIN_PART_OF_CLONE double exp_in_place(float* s, std::int64_t n, float shift) {
  float lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes)
    for (int i = 0; i < kLanes; ++i) {
      const float e = exp_kernel(s[c + i] - shift);
      s[c + i] = e;
      lanes[i] += e;
    }
  for (int i = 0; c < n; ++c, ++i) {
    s[c] = exp_kernel(s[c] - shift);
    lanes[i] += s[c];
  }
  return lane_sum(lanes);
}

}  // namespace

HAIRPIN_CLONES float inverse_rms(const float* x, std::int64_t n, float eps) {
  float lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] += x[c + i] * x[c + i];
  for (int i = 0; c < n; ++c, ++i) lanes[i] += x[c] * x[c];
  const float mean = static_cast<float>(lane_sum(lanes) / static_cast<double>(n));
  return 1.0f / std::sqrt(mean + eps);
}

HAIRPIN_CLONES void rms_norm_row(float* y, const float* x, const float* w, float inv,
                                 std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) y[c] = w[c] * (x[c] * inv);
}

HAIRPIN_CLONES void rms_norm_backward_row(float* dx, float* dw, const float* dy, const float* x,
                                          const float* w, float inv, std::int64_t n) {
  float lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] += w[c + i] * dy[c + i] * x[c + i];
  for (int i = 0; c < n; ++c, ++i) lanes[i] += w[c] * dy[c] * x[c];
  const float mean = static_cast<float>(lane_sum(lanes) / static_cast<double>(n));
  const float pull = mean * inv * inv;
  for (c = 0; c < n; ++c) {
    dx[c] = inv * (w[c] * dy[c] - x[c] * pull);
    dw[c] += dy[c] * (x[c] * inv);
  }
}

HAIRPIN_CLONES void swiglu_row(float* h, const float* gate, const float* up, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) h[c] = gate[c] / (1.0f + exp_kernel(-gate[c])) * up[c];
}

HAIRPIN_CLONES void swiglu_backward_row(float* dgate, float* dup, const float* dh,
                                        const float* gate, const float* up, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) {
    const float sigmoid = 1.0f / (1.0f + exp_kernel(-gate[c]));
    const float silu = gate[c] * sigmoid;
    dgate[c] = dh[c] * up[c] * (sigmoid + silu * (1.0f - sigmoid));
    dup[c] = dh[c] * silu;
  }
}

HAIRPIN_CLONES void rotate_row(float* y, const float* x, const float* cos, const float* sin,
                               float sign, float scale, std::int64_t head_dim) {
  const std::int64_t half = head_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    const float s = sign * sin[i];
    y[i] = (a * cos[i] - b * s) * scale;
    y[i + half] = (b * cos[i] + a * s) * scale;
  }
}

HAIRPIN_CLONES void masked_softmax_row(float* s, std::int64_t valid, std::int64_t n) {
  const float scale = static_cast<float>(1.0 / exp_in_place(s, valid, row_max(s, valid)));
  for (std::int64_t c = 0; c < valid; ++c) s[c] *= scale;
  for (std::int64_t c = valid; c < n; ++c) s[c] = 0.0f;
}

HAIRPIN_CLONES void softmax_backward_row(float* dp, const float* p, std::int64_t n) {
  float lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] += p[c + i] * dp[c + i];
  for (int i = 0; c < n; ++c, ++i) lanes[i] += p[c] * dp[c];
  const float sum = static_cast<float>(lane_sum(lanes));
  for (c = 0; c < n; ++c) dp[c] = p[c] * (dp[c] - sum);
}

HAIRPIN_CLONES double cross_entropy_row(float* logits, std::int64_t n, std::int64_t target,
                                        const float* weight) {
  const float max = row_max(logits, n);
  const float at_target = logits[target];
  const double sum = exp_in_place(logits, n, max);
  if (weight != nullptr) {
    const float scale = static_cast<float>(static_cast<double>(*weight) / sum);
    for (std::int64_t c = 0; c < n; ++c) logits[c] *= scale;
    logits[target] -= *weight;
  }
  return std::log(sum) + static_cast<double>(max) - static_cast<double>(at_target);
}

HAIRPIN_CLONES double exp_row(float* s, std::int64_t n, float* max) {
  *max = row_max(s, n);
  return exp_in_place(s, n, *max);
}

HAIRPIN_CLONES void scale_row(float* s, std::int64_t n, float factor) {
  for (std::int64_t c = 0; c < n; ++c) s[c] *= factor;
}

HAIRPIN_CLONES void add_row(float* y, const float* x, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) y[c] += x[c];
}

}  // namespace hairpin::nn
