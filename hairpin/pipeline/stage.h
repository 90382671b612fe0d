// What a rank runs of one logical stage: forwards and backwards of microbatches. The product's is
// SegmentStage (segment_stage.h).
#pragma once

#include <memory>

#include "hairpin/models/segment.h"

namespace hairpin::pipeline {

// Not thread-safe; belongs to one rank. `key` names a microbatch from its forward to the end of its
// backward.
class Stage {
 public:
  virtual ~Stage() = default;

  // x [R, hidden], undefined for the model's first stage. Returns the stage's output without
  // history: [R, hidden], or the scalar fp64 loss on the model's last stage.
  virtual Tensor forward(int key, const Tensor& x,
                         std::shared_ptr<const models::MicrobatchInput> input) = 0;

  // `gradient` of forward's result; undefined for a loss, whose gradient is 1. Sinks the weights'
  // gradients and returns the input's; undefined on the model's first stage. `last`: the step's
  // last backward of this stage.
  virtual Tensor backward(int key, Tensor gradient, bool last) = 0;

  // A split backward: `backward_input` returns what backward does and keeps the weights' gradients
  // for `backward_weight`, which must come for all microbatches in the order of backward_input.
  virtual Tensor backward_input(int key, Tensor gradient) = 0;
  virtual void backward_weight(int key, bool last) = 0;
};

}  // namespace hairpin::pipeline
