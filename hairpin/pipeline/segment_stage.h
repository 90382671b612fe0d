// A stage that computes: a run of segments, each its own autograd island.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hairpin/models/segment.h"
#include "hairpin/nn/gradient_sink.h"
#include "hairpin/pipeline/stage.h"

namespace hairpin::pipeline {

// What a rank does around its segments: waiting for their parameters, reducing their gradients.
class SegmentEvents {
 public:
  virtual ~SegmentEvents() = default;
  virtual void before_forward(models::Segment& segment) = 0;
  // The segment's last backward of the step is done.
  virtual void gradients_done(models::Segment& segment) = 0;
};

// Holds, per microbatch in flight, each segment's input leaf and output; a segment's graph is freed
// as soon as its backward is done.
class SegmentStage : public Stage {
 public:
  // The segments, and `events` (may be null), must outlive the stage.
  explicit SegmentStage(std::vector<models::Segment*> segments, SegmentEvents* events = nullptr)
      : segments_(std::move(segments)), events_(events) {}

  Tensor forward(int key, const Tensor& x,
                 std::shared_ptr<const models::MicrobatchInput> input) override;
  Tensor backward(int key, Tensor gradient, bool last) override;
  Tensor backward_input(int key, Tensor gradient) override;
  void backward_weight(int key, bool last) override;

  std::size_t in_flight() const { return flights_.size(); }
  std::size_t pending_weights() const { return deferred_.size(); }

 private:
  struct Island {
    Tensor input, output;
  };
  struct Flight {
    std::shared_ptr<const models::MicrobatchInput> input;  // graphs point into it
    std::vector<Island> islands;
  };
  template <class AfterSegment>
  Tensor run_backward(int key, Tensor gradient, AfterSegment after);

  std::vector<models::Segment*> segments_;
  SegmentEvents* events_;
  std::map<int, Flight> flights_;
  std::deque<std::pair<int, nn::DeferredGradients>> deferred_;  // by microbatch, as they came
};

}  // namespace hairpin::pipeline
