#include "hairpin/parallel/partial_gradients.h"

#include <ATen/ops/cat.h>

#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

void sum_over(collective::Group& group, std::vector<Tensor> gradients) {
  if (gradients.empty()) return;
  std::vector<Tensor> flat;
  for (const auto& gradient : gradients) flat.push_back(gradient.view({-1}));
  const Tensor all = at::cat(flat);
  group.all_reduce(fp32_span(all));
  std::int64_t begin = 0;
  for (auto& gradient : flat) {
    gradient.copy_(all.narrow(0, begin, gradient.numel()));
    begin += gradient.numel();
  }
}

}  // namespace

void sum_partial_gradients(nn::Bucket& bucket, const TensorParallel& tp) {
  std::vector<Tensor> of_all, of_copies;
  for (const auto& parameter : bucket.parameters()) {
    for (std::size_t i = 0; i < parameter.spec.parts.size(); ++i) {
      const auto& part = parameter.spec.parts[i];
      if (!part.partial || part.copies == 1) continue;
      HAIRPIN_CHECK(parameter.has_gradient, "the gradient of {} is not complete",
                    parameter.spec.name);
      const bool all = part.copies == tp.size();
      HAIRPIN_CHECK(all || (tp.copies != nullptr && part.copies == tp.copies->size()),
                    "{} copies of {} in a group of {}", part.copies, part.hf_name, tp.size());
      (all ? of_all : of_copies).push_back(parameter.part_gradient(i));
    }
  }
  if (!of_all.empty()) sum_over(*tp.group, of_all);
  if (!of_copies.empty()) sum_over(*tp.copies, of_copies);
}

}  // namespace hairpin::parallel
