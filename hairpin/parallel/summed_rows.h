// Partial sums over all rows [T, n], one on each rank, becoming rows between operators: summed over
// ranks, whole or, under sequence parallelism, this rank's share of them. The inverse movement of
// gathered_rows.h. While the sum is under way the rank may compute something else.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/collective/group.h"
#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::parallel {

// Movable; belongs to the rank that started it.
class SummedRows {
 public:
  // Starts summing `partial` [T, n], contiguous fp32, which it owns from now on.
  SummedRows(Tensor partial, const TensorParallel& tp);
  // The same with other shares of the rows than mesh::share's, of use under sequence parallelism.
  SummedRows(Tensor partial, std::vector<std::int64_t> counts, const TensorParallel& tp);

  // The sum: [this rank's rows, n]. Once. Throws Aborted.
  Tensor wait();

 private:
  std::vector<std::int64_t> counts_;  // elements, one a rank
  Tensor partial_, own_;              // own_ is partial_ where all rows stay whole
  collective::Work work_;             // last: ends before its buffers do
};

}  // namespace hairpin::parallel
