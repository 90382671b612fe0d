#include "hairpin/nn/gradient_sink.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::nn {

namespace {

thread_local DeferredGradients* deferring = nullptr;

void add_product(Parameter& parameter, const Tensor& dy, const Tensor& x) {
  if (parameter.has_gradient) {
    parameter.gradient.addmm_(dy.t(), x);
  } else {
    at::mm_out(parameter.gradient, dy.t(), x);
    parameter.has_gradient = true;
  }
}

}  // namespace

void sink_matmul(Parameter& parameter, const Tensor& dy, const Tensor& x) {
  if (deferring == nullptr) return add_product(parameter, dy, x);
  // A factor that an operation saved is a variable, whose history would keep the segment's input.
  deferring->products_.push_back({&parameter, dy.detach(), x.detach()});
}

void DeferredGradients::run() {
  for (auto& [parameter, dy, x] : products_) {
    add_product(*parameter, dy, x);
    dy = x = Tensor();  // as soon as they are used
  }
  products_.clear();
}

DeferScope::DeferScope(DeferredGradients& into) : before_(deferring) { deferring = &into; }
DeferScope::~DeferScope() { deferring = before_; }

void sink_row_sum(Parameter& parameter, const Tensor& dy) {
  const auto rows = dy.size(0), columns = dy.size(1);
  const float* source = fp32_span(dy).data();
  sink_into(parameter, [&](float* gradient) {
    for (std::int64_t row = 0; row < rows; ++row)
      add_row(gradient, source + row * columns, columns);
  });
}

void sink_into(Parameter& parameter, const std::function<void(float*)>& add) {
  if (!parameter.has_gradient) {
    parameter.gradient.zero_();
    parameter.has_gradient = true;
  }
  add(parameter.gradient.data_ptr<float>());
}

}  // namespace hairpin::nn
