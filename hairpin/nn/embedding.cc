#include "hairpin/nn/embedding.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "hairpin/base/check.h"
#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/kept.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Embedding : Function<Embedding> {
  // `anchor` is an empty leaf: it makes the result part of a graph although the table isn't one.
  static Tensor forward(AutogradContext* context, const Tensor& anchor, const Tensor& tokens,
                        Parameter* table) {
    (void)anchor;
    context->save_for_backward({tokens});
    keep(context, "table", table);
    const auto vocab = table->value.size(0), hidden = table->value.size(1);
    Tensor out = at::empty({tokens.size(0), hidden}, at::kFloat);
    const auto* ids = tokens.const_data_ptr<std::int32_t>();
    const float* rows = table->value.const_data_ptr<float>();
    for (std::int64_t t = 0; t < tokens.size(0); ++t) {
      HAIRPIN_CHECK(ids[t] >= 0 && ids[t] < vocab, "token {} outside a vocabulary of {}", ids[t],
                    vocab);
      std::copy_n(rows + ids[t] * hidden, hidden, out.data_ptr<float>() + t * hidden);
    }
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor tokens = context->get_saved_variables()[0];
    const Tensor dy = grads[0].contiguous();
    const auto* ids = tokens.const_data_ptr<std::int32_t>();
    const auto hidden = dy.size(1);
    sink_into(*kept<Parameter>(context, "table"), [&](float* gradient) {
      for (std::int64_t t = 0; t < dy.size(0); ++t)
        add_row(gradient + ids[t] * hidden, dy.const_data_ptr<float>() + t * hidden, hidden);
    });
    return {Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor embedding(std::span<const std::int32_t> tokens, Parameter& table) {
  Tensor ids = at::empty({static_cast<std::int64_t>(tokens.size())}, at::kInt);
  std::copy(tokens.begin(), tokens.end(), ids.data_ptr<std::int32_t>());
  const Tensor anchor = at::empty({0}, at::kFloat).requires_grad_();
  return Embedding::apply(anchor, ids, &table);
}

}  // namespace hairpin::nn
