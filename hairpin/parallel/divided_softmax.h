// Softmax and cross-entropy of rows of logits whose columns are divided over ranks.
//
// With m_r a rank's largest logit of a row and s_r = sum e^(logit - m_r) over its columns, the
// row's
//   log sum exp = m + log sum_r s_r e^(m_r - m),  m = max m_r.
// Three numbers a row and rank, m_r, s_r and the target's logit where the rank has it, are gathered
// and combined in rank order, so all ranks get the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hairpin/collective/group.h"
#include "hairpin/mesh/share.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::parallel {

struct DividedSoftmax {
  std::vector<double> losses;  // -log softmax[target], a row; NaN when any rank's logit is NaN
  std::vector<float> scales;   // exponentials * scales[row] = softmax of this rank's columns
};

// `logits` [rows, columns.count], contiguous fp32, becomes this rank's e^(logit - m_r). `targets`:
// one a row, indices into all columns. Every rank of the group calls with the same rows. Throws
// Aborted.
DividedSoftmax divided_softmax(const Tensor& logits, mesh::Range columns,
                               std::span<const std::int32_t> targets, collective::Group& group);

// `exponentials` of divided_softmax become this rank's columns of the gradient of the sum of
// weight * loss: weight * (softmax - onehot).
void divided_softmax_backward(const Tensor& exponentials, mesh::Range columns,
                              std::span<const std::int32_t> targets, std::span<const float> weights,
                              const DividedSoftmax& softmax);

}  // namespace hairpin::parallel
