// A pipeline schedule as data: for each rank an ordered list of ops. It is generated, checked,
// simulated and drawn without tensors, then executed as is (pipeline/executor.h).
//
// A model cut for a pipeline of PP positions has logical stages 0..S-1 in model order. In the
// hairpin shape there are PP + 1 of them: the edge (position 0) holds the first (head) and the last
// (tail), cloud position p holds stage p. In the line shape position p holds stage p.
//
// Ranks 0..E-1 are the edge's data-parallel replicas (a line has no edge: E = 0). Then come domain
// 0's ranks, one for each other position, then domain 1's, and so on. Microbatch number
// j = microbatch * D + domain of the step belongs to domain j mod D and is served by edge replica
// j mod E. Neither of D and E need divide the other.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace hairpin::schedule {

// A schedule has at most this many ops, over all ranks.
inline constexpr std::int64_t kMaxOps = std::int64_t{1} << 22;

// A stage's backward is whole, or it is split: `backward_input` computes the gradient that is sent
// on, `backward_weight` the gradients of the stage's weights, at any later time (Qi et al., Zero
// Bubble Pipeline Parallelism, 2023).
enum class OpKind { forward, backward, backward_input, backward_weight };

struct Op {
  OpKind kind = OpKind::forward;
  int stage = 0;       // logical stage
  int microbatch = 0;  // within its domain, from 0 (the notation counts from 1)
  int domain = 0;
  auto operator<=>(const Op&) const = default;
};

struct Schedule {
  std::string kind;      // one of `known_kinds` (generate.h)
  int microbatches = 0;  // per domain
  int domains = 1;
  std::vector<int> position_of_stage;  // logical stage -> its position in the pipeline
  std::vector<std::vector<Op>> ranks;
  int edge_ranks = 0;  // E, the replicas of position 0 if that is an edge; 0: it is not
  std::vector<bool> split_backward;  // by stage; empty: every stage's backward is whole

  bool operator==(const Schedule&) const = default;

  int num_stages() const { return static_cast<int>(position_of_stage.size()); }
  int num_ranks() const { return static_cast<int>(ranks.size()); }

  // Whether the first and the last stage lie at one position: head and tail on the edge.
  bool is_hairpin() const {
    return num_stages() > 2 && position_of_stage.front() == position_of_stage.back();
  }
  int pp() const;  // positions of the pipeline, the edge counted as one
  bool is_split(int stage) const {
    return !split_backward.empty() && split_backward[static_cast<std::size_t>(stage)];
  }
  // The op of STAGE that makes the gradient of its input.
  OpKind backward_of(int stage) const {
    return is_split(stage) ? OpKind::backward_input : OpKind::backward;
  }

  // Whether OP's kind is one that its stage has: no whole backward of a split one, and so on.
  bool has_kind(const Op& op) const {
    return op.kind == OpKind::forward || op.kind == backward_of(op.stage) ||
           (op.kind == OpKind::backward_weight && is_split(op.stage));
  }

  // The number j that a microbatch of a domain has in the step.
  int number_of(int microbatch, int domain) const { return microbatch * domains + domain; }
  // The rank that runs STAGE for a microbatch: an edge stage's depends on both, any other's on the
  // domain only.
  int rank_of(int stage, int domain, int microbatch) const;
  int rank_of(const Op& op) const { return rank_of(op.stage, op.domain, op.microbatch); }

  // Of RANK, one of 0..num_ranks()-1:
  bool is_edge(int rank) const { return rank < edge_ranks; }
  int position_of(int rank) const;             // in the pipeline; the edge's is 0
  int replica_of(int rank) const;              // an edge rank's replica, any other's domain
  std::vector<int> stages_of(int rank) const;  // ascending
};

}  // namespace hairpin::schedule
