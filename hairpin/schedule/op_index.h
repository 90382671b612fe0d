// What each op waits for, and a number for each op. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The one op whose result OP reads: F(s) reads F(s-1), the last stage's B its own F, and B(s)
// reads B(s+1); of a split backward the input gradient takes the B's place, and the weights'
// gradient reads its own input gradient's op. Nothing for the first stage's forward.
std::optional<Op> data_dependency(const Op& op, const Schedule& layout);

// Numbers the ops of a schedule 0..size()-1, whatever lists they stand in. Its lists aren't read.
class OpIndex {
 public:
  explicit OpIndex(const Schedule& layout);
  std::size_t size() const { return blocks_ * per_block_; }
  // OP's fields must be in range and its kind one that its stage has. The numbers of one kind and
  // stage follow each other as the microbatches' numbers do.
  std::size_t of(const Op& op) const {
    return block(op.kind, op.stage) * per_block_ +
           static_cast<std::size_t>(op.microbatch * domains_ + op.domain);
  }
  Op op(std::size_t index) const;  // the inverse

 private:
  std::size_t block(OpKind kind, int stage) const {
    const auto s = static_cast<std::size_t>(stage);
    if (kind == OpKind::forward) return s;
    return kind == OpKind::backward_weight ? weight_block_[s] : stages_ + s;
  }

  std::size_t stages_, blocks_, per_block_;  // a block holds one kind of one stage
  int domains_;
  std::vector<std::size_t> weight_block_;  // by stage
  std::vector<Op> first_;                  // by block: the first op of it
};

}  // namespace hairpin::schedule
