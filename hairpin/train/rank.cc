#include "hairpin/train/rank.h"

#include "hairpin/base/check.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/optim/gradient_norm.h"

namespace hairpin::train {
namespace {

optim::OptimizerOptions optimizer_options(const config::Optimizer& job) {
  using Kind = optim::OptimizerOptions::Kind;
  HAIRPIN_CHECK(job.kind == "sgd" || job.kind == "adamw", "optimizer {}", job.kind);
  return {.kind = job.kind == "sgd" ? Kind::sgd : Kind::adamw,
          .beta1 = job.beta1,
          .beta2 = job.beta2,
          .epsilon = job.epsilon,
          .momentum = job.momentum,
          .weight_decay = job.weight_decay};
}

optim::LearningRate learning_rate(const config::Job& job) {
  using optim::Decay;
  const auto& decay = job.optimizer.decay;
  HAIRPIN_CHECK(decay == "cosine" || decay == "linear" || decay == "constant", "decay {}", decay);
  return {.peak = job.optimizer.learning_rate,
          .minimum = job.optimizer.min_learning_rate,
          .decay = decay == "constant" ? Decay::constant
                   : decay == "linear" ? Decay::linear
                                       : Decay::cosine,
          .warmup_steps = job.optimizer.warmup_steps,
          .total_steps = job.train.steps};
}

}  // namespace

Rank::Rank(const Setup& setup, int rank, std::map<int, pipeline::Channel*> channels)
    : setup_(setup), learning_rate_(learning_rate(setup.job)) {
  std::vector<arch::SegmentRange> ranges;
  for (const int stage : setup.stages_of(rank))
    ranges.push_back(setup.stages[static_cast<std::size_t>(stage)]);
  model_ = std::make_unique<models::ModelPart>(
      setup.model.architecture, ranges,
      models::ModelOptions{setup.job.data.sequence_length, setup.job.train.loss_chunk});
  checkpoint::load_weights(*model_, setup.model);

  std::map<int, pipeline::Stage*> by_stage;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    stages_.push_back(std::make_unique<pipeline::Stage>(model_->segments(ranges[i])));
    by_stage[setup.stages_of(rank)[i]] = stages_.back().get();
  }
  executor_ =
      std::make_unique<pipeline::Executor>(setup.schedule, rank, by_stage, std::move(channels));
  optimizer_ =
      std::make_unique<optim::Optimizer>(model_->buckets(), optimizer_options(setup.job.optimizer));
}

Result<Rank::Gradients> Rank::compute(std::int64_t step, const pipeline::StepInputs& inputs) {
  model_->begin_step();
  HAIRPIN_TRY(const auto outcome, executor_->run(step, inputs));
  model_->finish_gradients();
  Gradients gradients;
  gradients.loss = outcome.loss;
  gradients.contribution.busy_seconds = outcome.busy_seconds;
  for (const auto& range : model_->ranges())
    for (auto i = range.begin; i < range.end; ++i)
      gradients.contribution.sums.emplace_back(
          i, optim::bucket_sum_of_squares(model_->segment(i).bucket()));
  return gradients;
}

double Rank::update(std::int64_t step, double norm) {
  const double rate = learning_rate_.at(step);
  optimizer_->step(rate, optim::clip_scale(norm, setup_.job.optimizer.clip_norm));
  return rate;
}

}  // namespace hairpin::train
