#include "hairpin/nn/norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

constexpr std::int64_t kRowGrain = 32;

}  // namespace

Tensor inverse_rms(const Tensor& x, double eps) {
  Tensor inv = at::empty({x.size(0)}, at::kFloat);
  const auto n = x.size(1);
  const float* in = fp32_span(x).data();
  float* out = inv.data_ptr<float>();
  parallel_rows(x.size(0), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto t = begin; t < end; ++t) out[t] = inverse_rms(in + t * n, n, static_cast<float>(eps));
  });
  return inv;
}

Tensor rms_norm(const Tensor& x, const Tensor& inv, const Parameter& norm) {
  Tensor y = at::empty_like(x);
  const auto n = x.size(1);
  const float* in = fp32_span(x).data();
  const float* scale = fp32_span(inv).data();
  const float* w = norm.value.data_ptr<float>();
  float* out = y.data_ptr<float>();
  parallel_rows(x.size(0), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto t = begin; t < end; ++t) rms_norm_row(out + t * n, in + t * n, w, scale[t], n);
  });
  return y;
}

// The weight's gradient adds up over rows, so the rows run in order on one thread.
Tensor rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& inv, Parameter& norm) {
  Tensor dx = at::empty_like(x);
  const auto n = x.size(1);
  const float* in = fp32_span(x).data();
  const float* scale = fp32_span(inv).data();
  const float* w = norm.value.data_ptr<float>();
  const float* gradient = fp32_span(dy).data();
  float* out = dx.data_ptr<float>();
  sink_into(norm, [&](float* dw) {
    for (std::int64_t t = 0; t < x.size(0); ++t)
      rms_norm_backward_row(out + t * n, dw, gradient + t * n, in + t * n, w, scale[t], n);
  });
  return dx;
}

}  // namespace hairpin::nn
