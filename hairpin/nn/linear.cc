#include "hairpin/nn/linear.h"

#include <ATen/ops/mm.h>

#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/kept.h"
#include "hairpin/nn/norm.h"
#include "hairpin/nn/swiglu.h"

namespace hairpin::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor matmul_bias(const Tensor& x, const Parameter& weight, const Parameter* bias) {
  Tensor y = at::mm(x, weight.value.t());
  if (bias != nullptr) y.add_(bias->value);
  return y;
}

// Sinks weight's and bias's gradients; returns the gradient of the matmul's input.
Tensor matmul_bias_backward(const Tensor& dy, const Tensor& input, Parameter& weight,
                            Parameter* bias) {
  sink_matmul(weight, dy, input);
  if (bias != nullptr) sink_row_sum(*bias, dy);
  return at::mm(dy, weight.value);
}

struct Linear : Function<Linear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Parameter* weight,
                        Parameter* bias) {
    context->save_for_backward({x});
    keep(context, "weight", weight);
    keep(context, "bias", bias);
    return matmul_bias(x, *weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor x = context->get_saved_variables()[0];
    return {matmul_bias_backward(grads[0].contiguous(), x, *kept<Parameter>(context, "weight"),
                                 kept<Parameter>(context, "bias")),
            Tensor(), Tensor()};
  }
};

struct NormLinear : Function<NormLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Parameter* norm, double eps,
                        Parameter* weight, Parameter* bias) {
    const Tensor inv = inverse_rms(x, eps);
    context->save_for_backward({x, inv});
    keep(context, "norm", norm);
    keep(context, "weight", weight);
    keep(context, "bias", bias);
    return matmul_bias(rms_norm(x, inv, *norm), *weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &inv = saved[1];
    Parameter& norm = *kept<Parameter>(context, "norm");
    const Tensor dnormed =
        matmul_bias_backward(grads[0].contiguous(), rms_norm(x, inv, norm),
                             *kept<Parameter>(context, "weight"), kept<Parameter>(context, "bias"));
    return {rms_norm_backward(dnormed, x, inv, norm), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

struct SwigluLinear : Function<SwigluLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& gate_up, Parameter* weight) {
    context->save_for_backward({gate_up});
    keep(context, "weight", weight);
    return at::mm(swiglu(gate_up), weight->value.t());
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor gate_up = context->get_saved_variables()[0];
    const Tensor dh = matmul_bias_backward(grads[0].contiguous(), swiglu(gate_up),
                                           *kept<Parameter>(context, "weight"), nullptr);
    return {swiglu_backward(dh, gate_up), Tensor()};
  }
};

}  // namespace

Tensor linear(const Tensor& x, Parameter& weight, Parameter* bias) {
  return Linear::apply(x, &weight, bias);
}

Tensor norm_linear(const Tensor& x, Parameter& norm, double eps, Parameter& weight,
                   Parameter* bias) {
  return NormLinear::apply(x, &norm, eps, &weight, bias);
}

Tensor swiglu_linear(const Tensor& gate_up, Parameter& weight) {
  return SwigluLinear::apply(gate_up, &weight);
}

}  // namespace hairpin::nn
