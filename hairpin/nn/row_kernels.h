// The element-wise and row-wise inner loops of a decoder, on plain fp32 arrays.
//
// Every kernel computes a row alike wherever it lies, and sums along a row in one fixed grouping
// (16 lanes, then lane order), so results depend neither on threads nor on how rows are split.
// Functions that take no row count handle one row.
#pragma once

#include <cstdint>

namespace hairpin::nn {

// RMSNorm (Zhang & Sennrich 2019): y = x * inv * w, inv = 1 / sqrt(mean(x^2) + eps).
float inverse_rms(const float* x, std::int64_t n, float eps);
void rms_norm_row(float* y, const float* x, const float* w, float inv, std::int64_t n);
// dx = inv * (w dy - x * inv^2 * mean(w dy x)); dw += dy * x * inv.
void rms_norm_backward_row(float* dx, float* dw, const float* dy, const float* x, const float* w,
                           float inv, std::int64_t n);

// SwiGLU (Shazeer 2020): h = silu(gate) * up, silu(g) = g / (1 + e^-g).
void swiglu_row(float* h, const float* gate, const float* up, std::int64_t n);
void swiglu_backward_row(float* dgate, float* dup, const float* dh, const float* gate,
                         const float* up, std::int64_t n);

// Rotary embedding, "rotate half" form (Su et al. 2021): for i < d/2
//   y[i] = x[i] cos[i] - x[i + d/2] sin[i];  y[i + d/2] = x[i + d/2] cos[i] + x[i] sin[i],
// all times `scale`. With `sign` = -1 the inverse rotation. In place is allowed.
void rotate_row(float* y, const float* x, const float* cos, const float* sin, float sign,
                float scale, std::int64_t head_dim);

// s[0, valid) becomes its softmax, s[valid, n) becomes 0.
void masked_softmax_row(float* s, std::int64_t valid, std::int64_t n);
// ds = p * (dp - sum(p dp)), into dp.
void softmax_backward_row(float* dp, const float* p, std::int64_t n);

// Cross-entropy of one row of logits: returns -log softmax(logits)[target]. With `weight` non-null,
// logits become the gradient of weight * loss: weight * (softmax - onehot).
double cross_entropy_row(float* logits, std::int64_t n, std::int64_t target, const float* weight);

// The halves of a cross-entropy whose row of logits is divided over ranks: s becomes e^(s - *max),
// *max being the row's largest (-inf for n = 0), and the sum is returned; NaN when any s is NaN.
double exp_row(float* s, std::int64_t n, float* max);
// s *= factor
void scale_row(float* s, std::int64_t n, float factor);

// y += x
void add_row(float* y, const float* x, std::int64_t n);

}  // namespace hairpin::nn
