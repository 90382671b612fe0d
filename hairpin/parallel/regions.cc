#include "hairpin/parallel/regions.h"

#include <ATen/ops/empty.h>

#include "hairpin/base/check.h"
#include "hairpin/parallel/kept.h"
#include "hairpin/parallel/shares.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// A copy of this rank's share along `dim`: a view would keep all of x alive.
Tensor own_share(const Tensor& x, std::int64_t dim, const TensorParallel& tp) {
  const auto share = mesh::share(x.size(dim), tp.size(), tp.rank());
  return x.narrow(dim, share.begin, share.count).clone(at::MemoryFormat::Contiguous);
}

Tensor whole_rows(const Tensor& own, std::int64_t rows, const TensorParallel& tp) {
  Tensor whole = at::empty({rows, own.size(1)}, at::kFloat);
  tp.group->all_gather(fp32_span(own), fp32_span(whole),
                       elements(shares(rows, tp.size()), own.size(1)));
  return whole;
}

// Ranks' columns arrive as one block a rank, and are then put side by side.
Tensor whole_columns(const Tensor& own, std::int64_t columns, const TensorParallel& tp) {
  const auto rows = own.size(0);
  const auto counts = shares(columns, tp.size());
  const Tensor blocks = at::empty({rows * columns}, at::kFloat);
  tp.group->all_gather(fp32_span(own), fp32_span(blocks), elements(counts, rows));
  Tensor whole = at::empty({rows, columns}, at::kFloat);
  std::int64_t begin = 0;
  for (const auto count : counts) {
    whole.narrow(1, begin, count)
        .copy_(blocks.narrow(0, rows * begin, rows * count).view({rows, count}));
    begin += count;
  }
  return whole;
}

Tensor whole_from(const Tensor& own, std::int64_t dim, std::int64_t size,
                  const TensorParallel& tp) {
  const auto mine = mesh::share(size, tp.size(), tp.rank()).count;
  HAIRPIN_CHECK(own.size(dim) == mine, "a share of {} on a rank that holds {} of {}", own.size(dim),
                mine, size);
  return dim == 0 ? whole_rows(own, size, tp) : whole_columns(own, size, tp);
}

struct Scatter : Function<Scatter> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t dim,
                        const TensorParallel* tp) {
    context->saved_data["dim"] = dim;
    context->saved_data["size"] = x.size(dim);
    keep_tp(context, *tp);
    return own_share(x, dim, *tp);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {whole_from(grads[0].contiguous(), context->saved_data["dim"].toInt(),
                       context->saved_data["size"].toInt(), kept_tp(context)),
            Tensor(), Tensor()};
  }
};

struct Gather : Function<Gather> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t dim,
                        std::int64_t size, const TensorParallel* tp) {
    context->saved_data["dim"] = dim;
    keep_tp(context, *tp);
    return whole_from(x.contiguous(), dim, size, *tp);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {own_share(grads[0], context->saved_data["dim"].toInt(), kept_tp(context)), Tensor(),
            Tensor(), Tensor()};
  }
};

}  // namespace

Tensor scatter_columns(const Tensor& x, const TensorParallel& tp) {
  return tp.size() == 1 ? x : Scatter::apply(x, 1, &tp);
}

Tensor gather_columns(const Tensor& x, std::int64_t n, const TensorParallel& tp) {
  return tp.size() == 1 ? x : Gather::apply(x, 1, n, &tp);
}

Tensor scatter_rows(const Tensor& x, const TensorParallel& tp) {
  return tp.size() == 1 ? x : Scatter::apply(x, 0, &tp);
}

Tensor gather_rows(const Tensor& x, std::int64_t tokens, const TensorParallel& tp) {
  return tp.size() == 1 ? x : Gather::apply(x, 0, tokens, &tp);
}

}  // namespace hairpin::parallel
