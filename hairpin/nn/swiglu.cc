#include "hairpin/nn/swiglu.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

constexpr std::int64_t kRowGrain = 16;

}  // namespace

Tensor swiglu(const Tensor& gate_up) {
  const auto rows = gate_up.size(0), n = gate_up.size(1) / 2;
  Tensor h = at::empty({rows, n}, at::kFloat);
  const float* in = fp32_span(gate_up).data();
  float* out = h.data_ptr<float>();
  parallel_rows(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto t = begin; t < end; ++t)
      swiglu_row(out + t * n, in + t * 2 * n, in + t * 2 * n + n, n);
  });
  return h;
}

Tensor swiglu_backward(const Tensor& dh, const Tensor& gate_up) {
  Tensor result = at::empty_like(gate_up);
  const auto rows = gate_up.size(0), n = gate_up.size(1) / 2;
  const float* in = fp32_span(gate_up).data();
  const float* gradient = fp32_span(dh).data();
  float* out = result.data_ptr<float>();
  parallel_rows(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto t = begin; t < end; ++t)
      swiglu_backward_row(out + t * 2 * n, out + t * 2 * n + n, gradient + t * n, in + t * 2 * n,
                          in + t * 2 * n + n, n);
  });
  return result;
}

}  // namespace hairpin::nn
