#include "hairpin/pipeline/segment_stage.h"

#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "hairpin/base/check.h"

namespace hairpin::pipeline {

Tensor SegmentStage::forward(int key, const Tensor& x,
                             std::shared_ptr<const models::MicrobatchInput> input) {
  HAIRPIN_CHECK(!flights_.contains(key), "microbatch {} is in flight already", key);
  Flight& flight = flights_[key];
  flight.input = std::move(input);
  Tensor current = x;
  for (auto* segment : segments_) {
    if (events_ != nullptr) events_->before_forward(*segment);
    Tensor leaf = current.defined() ? current.detach().requires_grad_() : Tensor();
    current = segment->forward(leaf, *flight.input);
    flight.islands.push_back({std::move(leaf), current});
  }
  return current.detach();
}

// Calls `after` with a segment's index when its backward is done and its graph is freed.
template <class AfterSegment>
Tensor SegmentStage::run_backward(int key, Tensor gradient, AfterSegment after) {
  const auto found = flights_.find(key);
  HAIRPIN_CHECK(found != flights_.end(), "microbatch {} is not in flight", key);
  auto& islands = found->second.islands;
  while (!islands.empty()) {
    Island island = std::move(islands.back());
    islands.pop_back();
    if (!gradient.defined()) gradient = at::ones_like(island.output);
    if (island.input.defined()) {
      gradient = torch::autograd::grad({island.output}, {island.input}, {gradient})[0];
    } else {
      torch::autograd::backward({island.output}, {gradient});
      gradient = Tensor();
    }
    island = {};
    after(islands.size());
  }
  flights_.erase(found);
  return gradient;
}

Tensor SegmentStage::backward(int key, Tensor gradient, bool last) {
  return run_backward(key, std::move(gradient), [&](std::size_t segment) {
    if (last && events_ != nullptr) events_->gradients_done(*segments_[segment]);
  });
}

Tensor SegmentStage::backward_input(int key, Tensor gradient) {
  nn::DeferredGradients weights;
  const nn::DeferScope scope(weights);
  gradient = run_backward(key, std::move(gradient), [](std::size_t) {});
  deferred_.emplace_back(key, std::move(weights));
  return gradient;
}

void SegmentStage::backward_weight(int key, bool last) {
  HAIRPIN_CHECK(!deferred_.empty() && deferred_.front().first == key,
                "microbatch {}'s weight gradients are not the next that wait", key);
  deferred_.front().second.run();
  deferred_.pop_front();
  if (!last || events_ == nullptr) return;
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment)
    events_->gradients_done(**segment);
}

}  // namespace hairpin::pipeline
