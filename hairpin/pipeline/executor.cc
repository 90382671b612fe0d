#include "hairpin/pipeline/executor.h"

#include <ATen/core/Tensor.h>

#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/collective/group.h"

namespace hairpin::pipeline {
namespace {

using schedule::Op;
using schedule::OpKind;
using wire::TensorKind;
using Clock = std::chrono::steady_clock;

// Notes the time from its making on as OP's.
class Timed {
 public:
  Timed(std::vector<OpTime>& ops, const Op& op) : ops_(ops), op_(op) {}
  ~Timed() { ops_.push_back({op_, begin_, Clock::now()}); }

 private:
  std::vector<OpTime>& ops_;
  const Op& op_;
  const Clock::time_point begin_ = Clock::now();
};

bool completes_weights(const Op& op) {
  return op.kind == OpKind::backward || op.kind == OpKind::backward_weight;
}

}  // namespace

double StepOutcome::busy_seconds() const {
  std::chrono::nanoseconds busy{0};
  for (const auto& op : ops) busy += op.duration();
  return std::chrono::duration<double>(busy).count();
}

Executor::Executor(std::shared_ptr<const schedule::Schedule> schedule, int rank,
                   std::map<int, Stage*> stages, std::map<int, Channel*> channels,
                   const parallel::TensorParallel& tp, const OpTrace& trace)
    : schedule_(std::move(schedule)),
      rank_(rank),
      stages_(std::move(stages)),
      channels_(std::move(channels)),
      tp_(tp),
      trace_(trace),
      notation_(*schedule_) {
  for (const auto& op : own_ops())
    if (completes_weights(op)) ++weights_ops_[op.stage];
}

void Executor::follow(std::shared_ptr<const schedule::Schedule> schedule) {
  HAIRPIN_CHECK(schedule->position_of_stage == schedule_->position_of_stage &&
                    schedule->split_backward == schedule_->split_backward &&
                    schedule->ranks.at(static_cast<std::size_t>(rank_)).size() == own_ops().size(),
                "rank {} can't follow a schedule of another layout", rank_);
  schedule_ = std::move(schedule);
}

const std::vector<Op>& Executor::own_ops() const {
  return schedule_->ranks.at(static_cast<std::size_t>(rank_));
}

Result<StepOutcome> Executor::run(std::int64_t step, const StepInputs& inputs) {
  step_ = step;
  inputs_ = &inputs;
  losses_.assign(inputs.size(), 0.0);
  ops_.clear();
  ops_.reserve(own_ops().size());
  weights_ops_left_ = weights_ops_;
  for (const auto& op : own_ops()) HAIRPIN_CHECK_OK(run(op));
  return StepOutcome{std::move(losses_), std::exchange(ops_, {})};
}

Result<void> Executor::run(const Op& op) {
  try {
    switch (op.kind) {
      case OpKind::forward: return forward(op);
      case OpKind::backward:
      case OpKind::backward_input: return backward(op);
      case OpKind::backward_weight: return backward_weight(op);
    }
    HAIRPIN_CHECK(false, "an op of no kind");
  } catch (const collective::Aborted& aborted) {
    return tl::unexpected<Error>(aborted.error());
  } catch (const std::exception& failure) {
    return fail(ErrorKind::internal, "step {}, {}: {}", step_ + 1, notation_.text(op),
                failure.what());
  }
}

std::size_t Executor::index_of(const Op& op) const {
  return static_cast<std::size_t>(schedule_->number_of(op.microbatch, op.domain));
}

// A span's name is made for a trace only.
metrics::TraceSpan Executor::span_of(const Op& op, const char* prefix, const char* category) const {
  return {trace_.trace, trace_.thread,
          trace_.trace != nullptr ? prefix + notation_.text(op) : std::string(), category};
}

// A peer's tensor may have any number of rows; the segments rely on the microbatch's.
Result<Tensor> Executor::receive(const Op& op, const Tag& tag) {
  const auto span = span_of(op, "wait ", "pp");
  HAIRPIN_TRY(auto tensor, channel(tag.boundary).receive(tag));
  const auto due = tp_.rows(inputs_->at(index_of(op))->layout.tokens).count;
  if (tensor.size(0) != due)
    return fail(ErrorKind::peer, "the {} has {} tokens, its microbatch has {}", tag_text(tag),
                tensor.size(0), due);
  return tensor;
}

Result<void> Executor::forward(const Op& op) {
  const auto index = index_of(op);
  Tag tag{TensorKind::activation, op.stage - 1, op.domain, step_, op.microbatch};
  Tensor x;
  if (op.stage > 0) {
    HAIRPIN_TRY(x, receive(op, tag));
  }
  const Timed timed(ops_, op);
  const auto span = span_of(op, "", "op");
  Tensor y = stages_.at(op.stage)->forward(static_cast<int>(index), x, inputs_->at(index));
  if (op.stage + 1 == schedule_->num_stages()) {
    losses_[index] = y.item<double>();
    return {};
  }
  tag.boundary = op.stage;
  return channel(op.stage).send(tag, std::move(y));
}

Result<void> Executor::backward(const Op& op) {
  Tag tag{TensorKind::gradient, op.stage, op.domain, step_, op.microbatch};
  Tensor gradient;
  if (op.stage + 1 < schedule_->num_stages()) {
    HAIRPIN_TRY(gradient, receive(op, tag));
  }
  const Timed timed(ops_, op);
  const auto span = span_of(op, "", "op");
  Stage& stage = *stages_.at(op.stage);
  const auto key = static_cast<int>(index_of(op));
  Tensor dx = completes_weights(op) ? stage.backward(key, std::move(gradient), last_weights(op))
                                    : stage.backward_input(key, std::move(gradient));
  if (op.stage == 0) return {};
  tag.boundary = op.stage - 1;
  return channel(op.stage - 1).send(tag, std::move(dx));
}

Result<void> Executor::backward_weight(const Op& op) {
  const Timed timed(ops_, op);
  const auto span = span_of(op, "", "op");
  stages_.at(op.stage)->backward_weight(static_cast<int>(index_of(op)), last_weights(op));
  return {};
}

// Counts an op that adds to the stage's weights' gradients: true for the step's last.
bool Executor::last_weights(const Op& op) { return --weights_ops_left_.at(op.stage) == 0; }

Channel& Executor::channel(int boundary) {
  const auto found = channels_.find(boundary);
  HAIRPIN_CHECK(found != channels_.end(), "rank {} has no channel at boundary {}", rank_, boundary);
  return *found->second;
}

}  // namespace hairpin::pipeline
