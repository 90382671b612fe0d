// For autograd Functions: a tensor-parallel group kept in a graph. The group outlives the graph.
#pragma once

#include "hairpin/nn/kept.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::parallel {

inline void keep_tp(torch::autograd::AutogradContext* context, const TensorParallel& tp) {
  nn::keep(context, "group", tp.group);
  context->saved_data["sequence"] = tp.sequence;
}

inline TensorParallel kept_tp(torch::autograd::AutogradContext* context) {
  return {.group = nn::kept<collective::Group>(context, "group"),
          .sequence = context->saved_data["sequence"].toBool()};
}

}  // namespace hairpin::parallel
