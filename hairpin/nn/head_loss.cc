#include "hairpin/nn/head_loss.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/kept.h"
#include "hairpin/nn/norm.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/nn/selected_tokens.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Weighted loss of the logits of selected tokens [begin, begin + rows); with `backward` the logits
// become their gradient. Rows run in parallel, their losses are summed in order.
double chunk_loss(Tensor& logits, const SelectedTokens& selection, std::int64_t begin,
                  bool backward) {
  const auto rows = logits.size(0), vocab = logits.size(1);
  float* row = fp32_span(logits).data();
  std::vector<double> losses(static_cast<std::size_t>(rows));
  parallel_rows(rows, 4, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto i = static_cast<std::size_t>(begin + r);
      losses[static_cast<std::size_t>(r)] = cross_entropy_row(
          row + r * vocab, vocab, selection.targets[i], backward ? &selection.weights[i] : nullptr);
    }
  });
  double sum = 0;
  for (std::size_t r = 0; r < losses.size(); ++r)
    sum += static_cast<double>(selection.weights[static_cast<std::size_t>(begin) + r]) * losses[r];
  return sum;
}

struct HeadLoss : Function<HeadLoss> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Parameter* norm, double eps,
                        Parameter* output, const LossTargets* targets, bool backward) {
    const SelectedTokens selection = select_tokens(*targets, output->value.size(0));
    const Tensor selected = at::index_select(x, 0, selection.rows);
    const Tensor inv = inverse_rms(selected, eps);
    const Tensor normed = rms_norm(selected, inv, *norm);
    const Tensor dnormed = backward ? at::empty_like(normed) : Tensor();

    double loss = 0;
    const auto rows = normed.size(0);
    Tensor buffer = at::empty({std::min(rows, targets->chunk), output->value.size(0)}, at::kFloat);
    for (std::int64_t begin = 0; begin < rows; begin += targets->chunk) {
      const auto count = std::min(targets->chunk, rows - begin);
      const Tensor chunk = normed.narrow(0, begin, count);
      Tensor logits = buffer.narrow(0, 0, count);
      at::mm_out(logits, chunk, output->value.t());
      loss += chunk_loss(logits, selection, begin, backward);
      if (!backward) continue;
      Tensor dchunk = dnormed.narrow(0, begin, count);
      at::mm_out(dchunk, logits, output->value);
      sink_matmul(*output, logits, chunk);
    }
    if (backward) {
      Tensor dx = at::zeros_like(x);
      dx.index_copy_(0, selection.rows, rms_norm_backward(dnormed, selected, inv, *norm));
      context->save_for_backward({dx});
    }
    return at::scalar_tensor(loss, at::kDouble);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    HAIRPIN_CHECK(grads[0].item<double>() == 1.0, "a loss's gradient is 1");
    return {context->get_saved_variables()[0], Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor head_loss(const Tensor& x, Parameter& norm, double eps, Parameter& output,
                 const LossTargets& targets) {
  HAIRPIN_CHECK(static_cast<std::size_t>(x.size(0)) == targets.targets.size() &&
                    targets.targets.size() == targets.weights.size(),
                "{} tokens, {} targets, {} weights", x.size(0), targets.targets.size(),
                targets.weights.size());
  return HeadLoss::apply(x, &norm, eps, &output, &targets, at::GradMode::is_enabled());
}

Tensor head_logits(const Tensor& x, Parameter& norm, double eps, Parameter& output) {
  const at::NoGradGuard no_grad;
  return at::mm(rms_norm(x, inverse_rms(x, eps), norm), output.value.t());
}

}  // namespace hairpin::nn
