#include "hairpin/pipeline/executor.h"

#include <ATen/core/Tensor.h>

#include <chrono>

#include "hairpin/base/check.h"

namespace hairpin::pipeline {
namespace {

using schedule::Op;
using schedule::OpKind;
using wire::TensorKind;
using Clock = std::chrono::steady_clock;

// Adds the time from its making to `total`.
class Busy {
 public:
  explicit Busy(double& total) : total_(total) {}
  ~Busy() { total_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  double& total_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Executor::Executor(const schedule::Schedule& schedule, int rank, std::map<int, Stage*> stages,
                   std::map<int, Channel*> channels)
    : schedule_(schedule),
      rank_(rank),
      stages_(std::move(stages)),
      channels_(std::move(channels)) {}

Result<StepOutcome> Executor::run(std::int64_t step, const StepInputs& inputs) {
  step_ = step;
  inputs_ = &inputs;
  losses_.assign(inputs.size(), 0.0);
  busy_seconds_ = 0;
  for (const auto& op : schedule_.ranks.at(static_cast<std::size_t>(rank_)))
    HAIRPIN_CHECK_OK(op.kind == OpKind::forward ? forward(op) : backward(op));
  StepOutcome outcome;
  for (const double loss : losses_) outcome.loss += loss;
  outcome.busy_seconds = busy_seconds_;
  return outcome;
}

std::size_t Executor::index_of(int microbatch, int domain) const {
  return static_cast<std::size_t>(microbatch * schedule_.domains + domain);
}

// A peer's tensor may have any number of rows; the segments rely on the microbatch's.
Result<Tensor> Executor::receive(const Tag& tag) {
  HAIRPIN_TRY(auto tensor, channel(tag.boundary).receive(tag));
  const auto due = inputs_->at(index_of(tag.microbatch, tag.domain))->layout.tokens;
  if (tensor.size(0) != due)
    return fail(ErrorKind::peer, "the {} has {} tokens, its microbatch has {}", tag_text(tag),
                tensor.size(0), due);
  return tensor;
}

Result<void> Executor::forward(const Op& op) {
  const auto index = index_of(op.microbatch, op.domain);
  Tag tag{TensorKind::activation, op.stage - 1, op.domain, step_, op.microbatch};
  Tensor x;
  if (op.stage > 0) {
    HAIRPIN_TRY(x, receive(tag));
  }
  const Busy busy(busy_seconds_);
  Tensor y = stages_.at(op.stage)->forward(static_cast<int>(index), x, inputs_->at(index));
  if (op.stage + 1 == schedule_.num_stages()) {
    losses_[index] = y.item<double>();
    return {};
  }
  tag.boundary = op.stage;
  return channel(op.stage).send(tag, std::move(y));
}

Result<void> Executor::backward(const Op& op) {
  const auto index = index_of(op.microbatch, op.domain);
  Tag tag{TensorKind::gradient, op.stage, op.domain, step_, op.microbatch};
  Tensor gradient;
  if (op.stage + 1 < schedule_.num_stages()) {
    HAIRPIN_TRY(gradient, receive(tag));
  }
  const Busy busy(busy_seconds_);
  Tensor dx = stages_.at(op.stage)->backward(static_cast<int>(index), std::move(gradient));
  if (op.stage == 0) return {};
  tag.boundary = op.stage - 1;
  return channel(op.stage - 1).send(tag, std::move(dx));
}

Channel& Executor::channel(int boundary) {
  const auto found = channels_.find(boundary);
  HAIRPIN_CHECK(found != channels_.end(), "rank {} has no channel at boundary {}", rank_, boundary);
  return *found->second;
}

}  // namespace hairpin::pipeline
