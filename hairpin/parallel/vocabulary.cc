#include "hairpin/parallel/vocabulary.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/nn/embedding.h"
#include "hairpin/nn/gradient_sink.h"
#include "hairpin/nn/norm.h"
#include "hairpin/nn/row_kernels.h"
#include "hairpin/nn/selected_tokens.h"
#include "hairpin/parallel/divided_softmax.h"
#include "hairpin/parallel/gathered_rows.h"
#include "hairpin/parallel/kept.h"
#include "hairpin/parallel/summed_rows.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

using nn::keep;
using nn::kept;
using nn::Parameter;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// This rank's rows of a table over the vocabulary.
mesh::Range table_rows(const Parameter& table, std::int64_t vocab, const TensorParallel& tp) {
  const auto rows = mesh::share(vocab, tp.size(), tp.rank());
  HAIRPIN_CHECK(table.value.size(0) == rows.count, "{} rows of {} on a rank that holds {} of {}",
                table.value.size(0), table.spec.name, rows.count, vocab);
  return rows;
}

struct VocabularyEmbedding : Function<VocabularyEmbedding> {
  // `anchor`: see nn::embedding.
  static Tensor forward(AutogradContext* context, const Tensor& anchor, const Tensor& tokens,
                        std::int64_t vocab, Parameter* table, const TensorParallel* tp) {
    (void)anchor;
    context->save_for_backward({tokens});
    context->saved_data["vocab"] = vocab;
    keep(context, "table", table);
    keep_tp(context, *tp);
    const auto own = table_rows(*table, vocab, *tp);
    const auto hidden = table->value.size(1);
    Tensor partial = at::zeros({tokens.size(0), hidden}, at::kFloat);
    const auto* ids = tokens.const_data_ptr<std::int32_t>();
    const float* rows = table->value.const_data_ptr<float>();
    for (std::int64_t t = 0; t < tokens.size(0); ++t) {
      HAIRPIN_CHECK(ids[t] >= 0 && ids[t] < vocab, "token {} outside a vocabulary of {}", ids[t],
                    vocab);
      if (own.contains(ids[t]))
        std::copy_n(rows + (ids[t] - own.begin) * hidden, hidden,
                    partial.data_ptr<float>() + t * hidden);
    }
    return SummedRows(std::move(partial), *tp).wait();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor tokens = context->get_saved_variables()[0];
    Parameter& table = *kept<Parameter>(context, "table");
    const TensorParallel tp = kept_tp(context);
    const auto own = table_rows(table, context->saved_data["vocab"].toInt(), tp);
    const auto* ids = tokens.const_data_ptr<std::int32_t>();
    const auto hidden = table.value.size(1);
    const GatheredRows dy = all_rows(grads[0].contiguous(), tokens.size(0), tp);
    nn::sink_into(table, [&](float* gradient) {
      for (const auto& piece : dy.pieces()) {
        const float* rows = fp32_span(piece.rows).data();
        for (std::int64_t t = 0; t < piece.rows.size(0); ++t)
          if (const auto id = ids[piece.begin + t]; own.contains(id))
            nn::add_row(gradient + (id - own.begin) * hidden, rows + t * hidden, hidden);
      }
    });
    return {Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

// The tokens with a target, and which of them are among this rank's rows.
struct DividedSelection {
  nn::SelectedTokens all;
  std::vector<std::int64_t> counts;  // of `all`, those among each rank's rows, if divided
  Tensor own;                        // int64 indices into this rank's rows
};

DividedSelection select_rows(const nn::LossTargets& targets, std::int64_t vocab,
                             const TensorParallel& tp) {
  DividedSelection selection{.all = nn::select_tokens(targets, vocab)};
  if (!tp.scattered()) {
    selection.own = selection.all.rows;
    return selection;
  }
  const auto tokens = static_cast<std::int64_t>(targets.targets.size());
  const auto* begin = selection.all.rows.const_data_ptr<std::int64_t>();
  const auto* end = begin + selection.all.rows.size(0);
  for (int rank = 0; rank < tp.size(); ++rank) {
    const auto rows = mesh::share(tokens, tp.size(), rank);
    const auto* first = std::lower_bound(begin, end, rows.begin);
    const auto* last = std::lower_bound(begin, end, rows.end());
    selection.counts.push_back(last - first);
    if (rank == tp.rank())
      selection.own = selection.all.rows.narrow(0, first - begin, last - first).sub(rows.begin);
  }
  return selection;
}

// The weighted loss of all rows of `normed`, by chunks. With `dnormed` [S, hidden] defined, it
// becomes this rank's part of their gradient, and the output's gradient is sunk.
double loss_by_chunks(const GatheredRows& normed, const nn::SelectedTokens& tokens,
                      std::int64_t chunk, mesh::Range columns, Parameter& output,
                      collective::Group& group, const Tensor& dnormed) {
  double loss = 0;
  const auto rows = normed.size();
  const Tensor buffer = at::empty({std::min(rows, chunk), columns.count}, at::kFloat);
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const auto count = std::min(chunk, rows - begin);
    const auto pieces = normed.pieces(begin, count);
    const Tensor logits = buffer.narrow(0, 0, count);
    const auto logits_of = [&](const GatheredRows::Piece& piece) {
      return logits.narrow(0, piece.begin, piece.rows.size(0));
    };
    for (const auto& piece : pieces) {
      Tensor own = logits_of(piece);
      at::mm_out(own, piece.rows, output.value.t());
    }
    const auto first = static_cast<std::size_t>(begin), size = static_cast<std::size_t>(count);
    const auto targets = std::span(tokens.targets).subspan(first, size);
    const auto weights = std::span(tokens.weights).subspan(first, size);
    const auto softmax = divided_softmax(logits, columns, targets, group);
    for (std::size_t row = 0; row < size; ++row)
      loss += static_cast<double>(weights[row]) * softmax.losses[row];
    if (!dnormed.defined()) continue;
    divided_softmax_backward(logits, columns, targets, weights, softmax);
    Tensor dchunk = dnormed.narrow(0, begin, count);
    at::mm_out(dchunk, logits, output.value);
    for (const auto& piece : pieces) nn::sink_matmul(output, logits_of(piece), piece.rows);
  }
  return loss;
}

struct VocabularyHeadLoss : Function<VocabularyHeadLoss> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t vocab,
                        Parameter* norm, double eps, Parameter* output,
                        const nn::LossTargets* targets, const TensorParallel* tp, bool backward) {
    const auto columns = table_rows(*output, vocab, *tp);
    const DividedSelection selection = select_rows(*targets, vocab, *tp);
    const Tensor selected = at::index_select(x, 0, selection.own);
    const Tensor inv = nn::inverse_rms(selected, eps);
    const Tensor own_normed = nn::rms_norm(selected, inv, *norm);
    const GatheredRows normed = tp->scattered()
                                    ? gather_shards(own_normed, selection.counts, *tp->group)
                                    : GatheredRows({own_normed});
    Tensor dnormed;
    if (backward) dnormed = at::empty({normed.size(), x.size(1)}, at::kFloat);
    const double loss = loss_by_chunks(normed, selection.all, targets->chunk, columns, *output,
                                       *tp->group, dnormed);
    if (backward) {
      const Tensor own = SummedRows(std::move(dnormed), selection.counts, *tp).wait();
      Tensor dx = at::zeros_like(x);
      dx.index_copy_(0, selection.own, nn::rms_norm_backward(own, selected, inv, *norm));
      context->save_for_backward({dx});
    }
    return at::scalar_tensor(loss, at::kDouble);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    HAIRPIN_CHECK(grads[0].item<double>() == 1.0, "a loss's gradient is 1");
    return {context->get_saved_variables()[0],
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

Tensor vocabulary_embedding(std::span<const std::int32_t> tokens, std::int64_t vocab,
                            Parameter& table, const TensorParallel& tp) {
  if (tp.size() == 1) return nn::embedding(tokens, table);
  Tensor ids = at::empty({static_cast<std::int64_t>(tokens.size())}, at::kInt);
  std::copy(tokens.begin(), tokens.end(), ids.data_ptr<std::int32_t>());
  const Tensor anchor = at::empty({0}, at::kFloat).requires_grad_();
  return VocabularyEmbedding::apply(anchor, ids, vocab, &table, &tp);
}

Tensor vocabulary_head_loss(const Tensor& x, std::int64_t vocab, Parameter& norm, double eps,
                            Parameter& output, const nn::LossTargets& targets,
                            const TensorParallel& tp) {
  if (tp.size() == 1) return nn::head_loss(x, norm, eps, output, targets);
  const auto tokens = static_cast<std::int64_t>(targets.targets.size());
  HAIRPIN_CHECK(
      x.size(0) == tp.rows(tokens).count && targets.weights.size() == targets.targets.size(),
      "{} rows of {} tokens, {} weights", x.size(0), tokens, targets.weights.size());
  return VocabularyHeadLoss::apply(x, vocab, &norm, eps, &output, &targets, &tp,
                                   at::GradMode::is_enabled());
}

}  // namespace hairpin::parallel
