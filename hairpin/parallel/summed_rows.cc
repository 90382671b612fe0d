#include "hairpin/parallel/summed_rows.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "hairpin/parallel/shares.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {

SummedRows::SummedRows(Tensor partial, const TensorParallel& tp)
    : SummedRows(partial, shares(partial.size(0), tp.size()), tp) {}

SummedRows::SummedRows(Tensor partial, std::vector<std::int64_t> counts, const TensorParallel& tp)
    : counts_(elements(counts, partial.size(1))), partial_(std::move(partial)) {
  if (tp.scattered()) {
    own_ = at::empty({counts[static_cast<std::size_t>(tp.rank())], partial_.size(1)}, at::kFloat);
    work_ = tp.group->reduce_scatter_async(fp32_span(partial_), fp32_span(own_), counts_);
  } else {
    own_ = partial_;
    if (tp.size() > 1) work_ = tp.group->all_reduce_async(fp32_span(partial_));
  }
}

Tensor SummedRows::wait() {
  work_.wait();
  partial_ = Tensor();
  return std::exchange(own_, Tensor());
}

}  // namespace hairpin::parallel
