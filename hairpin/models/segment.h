// A model is a list of segments: embedding, decoder layers, head (arch::segments is the same list
// without tensors). Each is single-device code and one autograd island; pipeline/stage.h strings
// the segments of a stage together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hairpin/nn/attention.h"
#include "hairpin/nn/layout.h"
#include "hairpin/nn/parameter.h"

namespace hairpin::models {

// What a microbatch is to the segments it passes. In the cloud only the layout is known.
struct MicrobatchInput {
  nn::PackedLayout layout;
  std::vector<std::int32_t> tokens;   // [T]; edge only
  std::vector<std::int32_t> targets;  // [T], -1: no loss; edge only
  std::vector<float> weights;         // [T] of each loss; edge only
};

// Not thread-safe; belongs to one rank.
class Segment {
 public:
  explicit Segment(std::vector<nn::ParameterSpec> specs) : bucket_(std::move(specs)) {}
  virtual ~Segment() = default;

  // x [R, hidden] (undefined for the embedding) -> [R, hidden], or a scalar fp64 loss for the head.
  // R is T, or this rank's share of it under sequence parallelism.
  // `input` must live until the result's backward is done.
  virtual Tensor forward(const Tensor& x, const MicrobatchInput& input) = 0;

  // As forward without gradients, for further tokens of one sequence. The head returns the last
  // token's logits [1, vocab].
  virtual Tensor extend(const Tensor& x, const MicrobatchInput& input,
                        nn::KeyValueCache& cache) = 0;

  nn::Bucket& bucket() { return bucket_; }

 private:
  nn::Bucket bucket_;
};

}  // namespace hairpin::models
