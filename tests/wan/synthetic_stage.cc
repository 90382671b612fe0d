#include "tests/wan/synthetic_stage.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "hairpin/base/check.h"

namespace hairpin::wan {
namespace {

using Clock = std::chrono::steady_clock;
using schedule::OpKind;

// What a lossy codec may change: int4 is the coarsest, and knows equal elements to 0.4 %.
constexpr double kTolerance = 0.01;

// Of the time from its making on, what is left when it is destroyed passes waiting. An op's own
// work is so part of its time.
class Lasting {
 public:
  explicit Lasting(std::chrono::nanoseconds time) : end_(Clock::now() + time) {}
  ~Lasting() { std::this_thread::sleep_until(end_); }
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

 private:
  const Clock::time_point end_;
};

Tensor filled(std::int64_t tokens, std::int64_t hidden, double value) {
  return at::full({tokens, hidden}, value, at::kFloat);
}

void expect(const Tensor& tensor, std::int64_t tokens, std::int64_t hidden, double value) {
  HAIRPIN_CHECK(tensor.dim() == 2 && tensor.size(0) == tokens && tensor.size(1) == hidden,
                "a tensor of {} elements, due are {} x {}", tensor.numel(), tokens, hidden);
  const float* elements = tensor.const_data_ptr<float>();
  for (const float found : {elements[0], elements[tensor.numel() - 1]})
    HAIRPIN_CHECK(std::abs(found - value) <= kTolerance * std::abs(value),
                  "a tensor of {}s where {}s are due", found, value);
}

}  // namespace

double synthetic_activation(int key, int boundary) { return std::ldexp(key + 1, boundary); }
double synthetic_gradient(int key, int boundary, int num_stages) {
  return -std::ldexp(key + 1, num_stages - 2 - boundary);
}
double synthetic_loss(int key, int num_stages) { return std::ldexp(key + 1, num_stages - 1); }

void be_punctual() { ::prctl(PR_SET_TIMERSLACK, 1000UL); }

void SyntheticStage::note(OpKind kind, int key) const {
  if (options_.calls != nullptr)
    options_.calls->push_back({.kind = kind, .stage = options_.stage, .microbatch = key});
}

Tensor SyntheticStage::forward(int key, const Tensor& x,
                               std::shared_ptr<const models::MicrobatchInput> input) {
  const Lasting lasting(options_.forward);
  note(OpKind::forward, key);
  const auto tokens = input->layout.tokens;
  HAIRPIN_CHECK(!flights_.contains(key), "microbatch {} is in flight already", key);
  HAIRPIN_CHECK(x.defined() != is_first(), "stage {} has an input, or none", options_.stage);
  if (!is_first())
    expect(x, tokens, options_.hidden, synthetic_activation(key, options_.stage - 1));
  flights_[key] = {x, tokens};
  peak_in_flight_ = std::max(peak_in_flight_, flights_.size());
  if (is_last()) return at::scalar_tensor(at::mean(x).item<float>() * 2.0, at::kDouble);
  return is_first() ? filled(tokens, options_.hidden, synthetic_activation(key, 0))
                    : at::mul(x, 2.0);
}

// Ends the microbatch's flight; the gradient of its input.
Tensor SyntheticStage::land(int key, const Tensor& gradient) {
  const auto found = flights_.find(key);
  HAIRPIN_CHECK(found != flights_.end(), "microbatch {} is not in flight", key);
  HAIRPIN_CHECK(key > last_backward_, "the backward of microbatch {} after that of {}", key,
                last_backward_);
  HAIRPIN_CHECK(gradient.defined() != is_last(), "stage {} has a gradient, or none",
                options_.stage);
  const auto tokens = found->second.tokens;
  if (!is_last())
    expect(gradient, tokens, options_.hidden,
           synthetic_gradient(key, options_.stage, options_.num_stages));
  flights_.erase(found);
  last_backward_ = key;
  if (is_first()) return {};
  if (!is_last()) return at::mul(gradient, 2.0);
  return filled(tokens, options_.hidden,
                synthetic_gradient(key, options_.stage - 1, options_.num_stages));
}

void SyntheticStage::end_step(bool last) {
  const bool all = flights_.empty() && pending_.empty();
  HAIRPIN_CHECK(all || !last, "a step's last op of stage {} while {} microbatches are in flight",
                options_.stage, flights_.size() + pending_.size());
  if (last) last_backward_ = -1;
}

Tensor SyntheticStage::backward(int key, Tensor gradient, bool last) {
  const Lasting lasting(options_.backward);
  note(OpKind::backward, key);
  Tensor result = land(key, gradient);
  end_step(last);
  return result;
}

Tensor SyntheticStage::backward_input(int key, Tensor gradient) {
  const Lasting lasting(options_.backward - options_.backward_weight);
  note(OpKind::backward_input, key);
  Tensor result = land(key, gradient);
  pending_.push_back(key);
  peak_pending_ = std::max(peak_pending_, pending_.size());
  return result;
}

void SyntheticStage::backward_weight(int key, bool last) {
  const Lasting lasting(options_.backward_weight);
  note(OpKind::backward_weight, key);
  HAIRPIN_CHECK(!pending_.empty() && pending_.front() == key,
                "microbatch {}'s weights' gradients are not the next that are pending", key);
  pending_.pop_front();
  end_step(last);
}

}  // namespace hairpin::wan
