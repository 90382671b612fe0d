// A rank's place among the tensor-parallel ranks that share its layers.
//
// T tokens of a microbatch, h hidden, t ranks. Between operators the rows [T, h] are whole and
// equal on all ranks; with sequence parallelism rank r holds rows mesh::share(T, t, r) of them.
// Column operators take such rows and give columns [T, out / t]; row operators take those and give
// rows back. Per column or row operator and pass n ranks move one all-reduce's bytes, or one
// all-gather's and one reduce-scatter's, which is as many.
#pragma once

#include <cstdint>

#include "hairpin/collective/group.h"
#include "hairpin/mesh/share.h"

namespace hairpin::parallel {

// A value; the groups belong to the rank and outlive its model.
struct TensorParallel {
  collective::Group* group = nullptr;   // null: one rank
  collective::Group* copies = nullptr;  // ranks with the same K/V heads; null: no others
  bool sequence = false;                // sequence parallelism; without effect on one rank

  int size() const { return group == nullptr ? 1 : group->size(); }
  int rank() const { return group == nullptr ? 0 : group->rank(); }
  bool scattered() const { return sequence && size() > 1; }
  // This rank's rows between operators.
  mesh::Range rows(std::int64_t tokens) const {
    return scattered() ? mesh::share(tokens, size(), rank()) : mesh::Range{0, tokens};
  }
};

}  // namespace hairpin::parallel
