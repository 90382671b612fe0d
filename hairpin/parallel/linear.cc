#include "hairpin/parallel/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <functional>

#include "hairpin/base/check.h"
#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/linear.h"
#include "hairpin/nn/norm.h"
#include "hairpin/nn/swiglu.h"
#include "hairpin/parallel/gathered_rows.h"
#include "hairpin/parallel/kept.h"
#include "hairpin/parallel/summed_rows.h"

namespace hairpin::parallel {
namespace {

using nn::keep;
using nn::kept;
using nn::Parameter;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// y = x matrix for gathered rows x.
Tensor matmul(const GatheredRows& x, const Tensor& matrix) {
  Tensor y = at::empty({x.size(), matrix.size(1)}, at::kFloat);
  for (const auto& piece : x.pieces()) {
    Tensor rows = y.narrow(0, piece.begin, piece.rows.size(0));
    at::mm_out(rows, piece.rows, matrix);
  }
  return y;
}

Tensor column_forward(const GatheredRows& x, const Parameter& weight, const Parameter* bias) {
  Tensor y = matmul(x, weight.value.t());
  if (bias != nullptr) y.add_(bias->value);
  return y;
}

// Returns the gradient of this rank's rows of the input. `input` is asked for the operator's whole
// input, and the parameters' gradients are computed, while the input's gradient is on its way.
Tensor column_backward(const Tensor& dy, Parameter& weight, Parameter* bias,
                       const TensorParallel& tp, const std::function<GatheredRows()>& input) {
  SummedRows dx(at::mm(dy, weight.value), tp);
  const GatheredRows x = input();
  HAIRPIN_CHECK(x.size() == dy.size(0), "{} rows, gradients of {}", x.size(), dy.size(0));
  for (const auto& piece : x.pieces())
    nn::sink_matmul(weight, dy.narrow(0, piece.begin, piece.rows.size(0)), piece.rows);
  if (bias != nullptr) nn::sink_row_sum(*bias, dy);
  return dx.wait();
}

struct ColumnLinear : Function<ColumnLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t tokens,
                        Parameter* weight, Parameter* bias, const TensorParallel* tp) {
    const GatheredRows rows = all_rows(x, tokens, *tp);
    context->save_for_backward(rows.shards());
    keep(context, "weight", weight);
    keep(context, "bias", bias);
    keep_tp(context, *tp);
    return column_forward(rows, *weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor dx = column_backward(grads[0].contiguous(), *kept<Parameter>(context, "weight"),
                                      kept<Parameter>(context, "bias"), kept_tp(context),
                                      [&] { return GatheredRows(context->get_saved_variables()); });
    return {dx, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

// Keeps x, 1/rms and, under sequence parallelism, the shards of the norm's output: gathering them
// again would move more than tensor parallelism alone does. On whole rows it is computed again.
struct NormColumnLinear : Function<NormColumnLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t tokens,
                        Parameter* norm, double eps, Parameter* weight, Parameter* bias,
                        const TensorParallel* tp) {
    const Tensor inv = nn::inverse_rms(x, eps);
    const GatheredRows normed = all_rows(nn::rms_norm(x, inv, *norm), tokens, *tp);
    variable_list saved{x, inv};
    if (tp->scattered()) saved.insert(saved.end(), normed.shards().begin(), normed.shards().end());
    context->save_for_backward(saved);
    keep(context, "norm", norm);
    keep(context, "weight", weight);
    keep(context, "bias", bias);
    keep_tp(context, *tp);
    return column_forward(normed, *weight, bias);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &inv = saved[1];
    Parameter& norm = *kept<Parameter>(context, "norm");
    const TensorParallel tp = kept_tp(context);
    const Tensor dnormed = column_backward(
        grads[0].contiguous(), *kept<Parameter>(context, "weight"),
        kept<Parameter>(context, "bias"), tp, [&] {
          return GatheredRows(tp.scattered() ? variable_list(saved.begin() + 2, saved.end())
                                             : variable_list{nn::rms_norm(x, inv, norm)});
        });
    return {nn::rms_norm_backward(dnormed, x, inv, norm),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

Tensor row_forward(const Tensor& input, const Parameter& weight, const Parameter* bias,
                   const TensorParallel& tp) {
  Tensor y = SummedRows(at::mm(input, weight.value.t()), tp).wait();
  if (bias != nullptr) y.add_(bias->value);
  return y;
}

// Returns the gradient of `input` [T, in / t]. The bias gets the sum over all rows, so its gradient
// is the same on every rank.
Tensor row_backward(const Tensor& dy_rows, const Tensor& input, Parameter& weight, Parameter* bias,
                    const TensorParallel& tp) {
  const GatheredRows dy = all_rows(dy_rows, input.size(0), tp);
  for (const auto& piece : dy.pieces()) {
    nn::sink_matmul(weight, piece.rows, input.narrow(0, piece.begin, piece.rows.size(0)));
    if (bias != nullptr) nn::sink_row_sum(*bias, piece.rows);
  }
  return matmul(dy, weight.value);
}

struct RowLinear : Function<RowLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Parameter* weight,
                        Parameter* bias, const TensorParallel* tp) {
    context->save_for_backward({x});
    keep(context, "weight", weight);
    keep(context, "bias", bias);
    keep_tp(context, *tp);
    return row_forward(x, *weight, bias, *tp);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor x = context->get_saved_variables()[0];
    return {row_backward(grads[0].contiguous(), x, *kept<Parameter>(context, "weight"),
                         kept<Parameter>(context, "bias"), kept_tp(context)),
            Tensor(), Tensor(), Tensor()};
  }
};

struct SwigluRowLinear : Function<SwigluRowLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& gate_up, Parameter* weight,
                        const TensorParallel* tp) {
    context->save_for_backward({gate_up});
    keep(context, "weight", weight);
    keep_tp(context, *tp);
    return row_forward(nn::swiglu(gate_up), *weight, nullptr, *tp);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor gate_up = context->get_saved_variables()[0];
    const Tensor dh = row_backward(grads[0].contiguous(), nn::swiglu(gate_up),
                                   *kept<Parameter>(context, "weight"), nullptr, kept_tp(context));
    return {nn::swiglu_backward(dh, gate_up), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor column_linear(const Tensor& x, std::int64_t tokens, Parameter& weight, Parameter* bias,
                     const TensorParallel& tp) {
  if (tp.size() == 1) return nn::linear(x, weight, bias);
  return ColumnLinear::apply(x, tokens, &weight, bias, &tp);
}

Tensor norm_column_linear(const Tensor& x, std::int64_t tokens, Parameter& norm, double eps,
                          Parameter& weight, Parameter* bias, const TensorParallel& tp) {
  if (tp.size() == 1) return nn::norm_linear(x, norm, eps, weight, bias);
  return NormColumnLinear::apply(x, tokens, &norm, eps, &weight, bias, &tp);
}

Tensor row_linear(const Tensor& x, Parameter& weight, Parameter* bias, const TensorParallel& tp) {
  if (tp.size() == 1) return nn::linear(x, weight, bias);
  return RowLinear::apply(x, &weight, bias, &tp);
}

Tensor swiglu_row_linear(const Tensor& gate_up, Parameter& weight, const TensorParallel& tp) {
  if (tp.size() == 1) return nn::swiglu_linear(gate_up, weight);
  return SwigluRowLinear::apply(gate_up, &weight, &tp);
}

}  // namespace hairpin::parallel
