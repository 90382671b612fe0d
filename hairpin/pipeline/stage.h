// The runtime of one logical stage: a run of segments, each its own autograd island.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "hairpin/models/segment.h"

namespace hairpin::pipeline {

// Not thread-safe; belongs to one rank. Holds, per microbatch in flight, each segment's input leaf
// and output; a segment's graph is freed as soon as its backward is done.
class Stage {
 public:
  // The segments must outlive the stage.
  explicit Stage(std::vector<models::Segment*> segments) : segments_(std::move(segments)) {}

  // x [T, hidden], undefined for the model's first stage. Returns the last segment's output without
  // history: [T, hidden], or the scalar fp64 loss on the model's last stage. `key` names the
  // microbatch until its backward.
  Tensor forward(int key, const Tensor& x, std::shared_ptr<const models::MicrobatchInput> input);

  // `gradient` of forward's result; undefined for a loss, whose gradient is 1. Sinks the weights'
  // gradients and returns the input's; undefined on the model's first stage.
  Tensor backward(int key, Tensor gradient);

  std::size_t in_flight() const { return flights_.size(); }

 private:
  struct Island {
    Tensor input, output;
  };
  struct Flight {
    std::shared_ptr<const models::MicrobatchInput> input;  // graphs point into it
    std::vector<Island> islands;
  };
  std::vector<models::Segment*> segments_;
  std::map<int, Flight> flights_;
};

}  // namespace hairpin::pipeline
