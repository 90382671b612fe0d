// How much tensor memory a rank needs, from sizes alone: docs/numerics.md's lists as code, for
// planning before anything is made. Tests hold it against what runs really need.
//
// Pure functions, thread-safe. All sizes are bytes; activations, weights and gradients are fp32.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hairpin/arch/architecture.h"

namespace hairpin::arch {

// A rank of a tensor-parallel group, whose size the architecture allows (divide.h).
struct TensorParallelRank {
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  bool sequence_parallel = false;  // without effect on one rank
};

struct MicrobatchSize {
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;  // those with a target
  std::int64_t longest_sample = 0;  // tokens of the longest one packed into it
  std::int64_t loss_chunk = 256;    // the job's train.loss_chunk
};

// One tensor that a segment keeps from a microbatch's forward until its backward.
struct SavedTensor {
  std::string_view name;
  std::int64_t bytes = 0;
};

// What a segment keeps of each microbatch in flight. Its input is not in it: that is the output of
// the segment before, kept by the rank that made it, or a tensor of the link.
std::vector<SavedTensor> saved_tensors(const Architecture& a, SegmentSpec::Kind segment,
                                       std::int64_t tokens, const TensorParallelRank& tp);
std::int64_t saved_bytes(const Architecture& a, SegmentSpec::Kind segment, std::int64_t tokens,
                         const TensorParallelRank& tp);

// A split backward (nn/gradient_sink.h): what a segment keeps of each microbatch whose weights'
// gradients are pending, that is from its input's gradient on. Nothing of `saved_tensors` is left
// then. The gradient of its output is in it, whoever made it: the segment after, the rank of the
// stage after, or the link.
std::vector<SavedTensor> pending_tensors(const Architecture& a, SegmentSpec::Kind segment,
                                         std::int64_t tokens, const TensorParallelRank& tp);
std::int64_t pending_bytes(const Architecture& a, SegmentSpec::Kind segment, std::int64_t tokens,
                           const TensorParallelRank& tp);

// What passes between segments and stages: a rank's rows of activations or of their gradient.
std::int64_t stage_tensor_bytes(const Architecture& a, std::int64_t tokens,
                                const TensorParallelRank& tp);

// The most that a segment's forward or first backward has beside all that is kept. A rank needs it
// once, for the segment where it is largest.
std::int64_t working_bytes(const Architecture& a, SegmentSpec::Kind segment,
                           const MicrobatchSize& microbatch, const TensorParallelRank& tp);

// Of that, the most that its forward has.
std::int64_t forward_working_bytes(const Architecture& a, SegmentSpec::Kind segment,
                                   const MicrobatchSize& microbatch, const TensorParallelRank& tp);

// The most that a segment's part of a split backward's input gradient has beside what it saved:
// what becomes pending meanwhile is in it, with the gradient of its output.
std::int64_t input_gradient_working_bytes(const Architecture& a, SegmentSpec::Kind segment,
                                          const MicrobatchSize& microbatch,
                                          const TensorParallelRank& tp);

// The table of angles, one on each rank that computes: `positions` is the job's sequence length.
std::int64_t rotary_table_bytes(const Architecture& a, std::int64_t positions);

// A rank's replicas and optimizer.
struct Replicas {
  std::int64_t replicas = 1;
  std::int64_t replica = 0;
  std::int64_t zero = 0;     // 1: the optimizer's state is divided over them
  std::int64_t moments = 2;  // AdamW 2, SGD with momentum 1, else 0
};

struct ParameterMemory {
  std::int64_t weights = 0, gradients = 0, optimizer = 0;
  bool operator==(const ParameterMemory&) const = default;
};

// Of the segments in `held` (disjoint ranges of segment indices), from a run's start to its end.
ParameterMemory parameter_memory(const Architecture& a, const std::vector<SegmentRange>& held,
                                 const TensorParallelRank& tp, const Replicas& replicas);

}  // namespace hairpin::arch
