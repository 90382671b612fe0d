#include "hairpin/schedule/op_index.h"

namespace hairpin::schedule {

std::optional<Op> data_dependency(const Op& op, const Schedule& layout) {
  Op source = op;
  if (op.kind == OpKind::forward) {
    if (op.stage == 0) return std::nullopt;
    --source.stage;
  } else if (op.kind == OpKind::backward_weight) {
    source.kind = OpKind::backward_input;
  } else if (op.stage == layout.num_stages() - 1) {
    source.kind = OpKind::forward;
  } else {
    ++source.stage;
    source.kind = layout.backward_of(source.stage);
  }
  return source;
}

OpIndex::OpIndex(const Schedule& layout)
    : stages_(layout.position_of_stage.size()),
      blocks_(2 * stages_),
      per_block_(static_cast<std::size_t>(layout.microbatches) *
                 static_cast<std::size_t>(layout.domains)),
      domains_(layout.domains) {
  const int stages = layout.num_stages();
  for (int stage = 0; stage < stages; ++stage) first_.push_back({OpKind::forward, stage});
  for (int stage = 0; stage < stages; ++stage) first_.push_back({layout.backward_of(stage), stage});
  for (int stage = 0; stage < stages; ++stage) {
    weight_block_.push_back(blocks_);
    if (!layout.is_split(stage)) continue;
    first_.push_back({OpKind::backward_weight, stage});
    ++blocks_;
  }
}

Op OpIndex::op(std::size_t index) const {
  Op op = first_[index / per_block_];
  const auto number = static_cast<int>(index % per_block_);
  op.microbatch = number / domains_;
  op.domain = number % domains_;
  return op;
}

}  // namespace hairpin::schedule
