// Rows [T, n] that the ranks of a group hold a share of each, as every rank reads them: a list of
// shards. Where ranks share memory the shards are the other ranks' own tensors, nothing is copied
// and each rank's memory holds its share only; else they are views into one gathered buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/collective/group.h"
#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::parallel {

class GatheredRows {
 public:
  // Rows [begin, begin + rows.size(0)) of all.
  struct Piece {
    std::int64_t begin = 0;
    Tensor rows;
  };

  // Shards in row order, at least one; [T_i, n], T_i may be 0.
  explicit GatheredRows(std::vector<Tensor> shards);

  // For a variable's list of saved tensors; what they hold must no longer be written to.
  const std::vector<Tensor>& shards() const { return shards_; }
  std::int64_t size() const;  // T
  std::vector<Piece> pieces() const { return pieces(0, size()); }
  // The pieces that make up rows [begin, begin + count); their `begin` counts from `begin`.
  std::vector<Piece> pieces(std::int64_t begin, std::int64_t count) const;

 private:
  std::vector<Tensor> shards_;
};

// `own` [counts[rank], n], contiguous fp32, of every rank of the group. Afterwards `own` must not
// be written to. Throws Aborted.
GatheredRows gather_shards(const Tensor& own, collective::Counts counts, collective::Group& group);

// All rows of a microbatch given those of this rank, `own` [tp.rows(tokens).count, n]: gathered
// under sequence parallelism, else `own` itself as the one shard.
GatheredRows all_rows(const Tensor& own, std::int64_t tokens, const TensorParallel& tp);

}  // namespace hairpin::parallel
