#include "hairpin/train/rank.h"

#include "hairpin/base/check.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/optim/gradient_norm.h"
#include "hairpin/parallel/partial_gradients.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/train/stage_times.h"

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

optim::LearningRate make_learning_rate(const config::Job& job) {
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

optim::NormType norm_type(config::NormType type) {
  switch (type) {
    case config::NormType::one: return optim::NormType::one;
    case config::NormType::two: return optim::NormType::two;
    case config::NormType::infinity: break;
  }
  return optim::NormType::infinity;
}

Rank::Rank(const Setup& setup, int number, const SiteGroups& groups,
           std::map<int, pipeline::Channel*> channels, const pipeline::OpTrace& trace)
    : setup_(setup),
      at_(setup.mesh().coordinate(number)),
      tp_(groups.tensor_parallel(number)),
      tied_(groups.tied(number)),
      learning_rate_(make_learning_rate(setup.job)) {
  const int list = setup.schedule_rank(at_);
  const auto held = setup.schedule.stages_of(list);
  std::vector<arch::SegmentRange> ranges;
  for (const int stage : held) ranges.push_back(setup.stages[static_cast<std::size_t>(stage)]);
  model_ = std::make_unique<models::ModelPart>(
      setup.model.architecture, ranges,
      models::ModelOptions{setup.job.data.sequence_length, setup.job.train.loss_chunk, tp_});
  checkpoint::load_weights(*model_, setup.model);

  pipeline::SegmentEvents* events = this;
  std::map<int, pipeline::Stage*> by_stage;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    stages_.push_back(
        std::make_unique<pipeline::SegmentStage>(model_->segments(ranges[i]), events));
    by_stage[held[i]] = stages_.back().get();
  }
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    const auto segments = model_->segments(*range);
    reductions_.insert(reductions_.end(), segments.rbegin(), segments.rend());
  }
  executor_ = std::make_unique<pipeline::Executor>(
      std::make_shared<const schedule::Schedule>(setup.schedule), list, by_stage,
      std::move(channels), tp_, trace);

  const auto& site = setup.site();
  data_parallel_ = std::make_unique<parallel::DataParallel>(
      groups.data_parallel(number), model_->buckets(),
      parallel::DataParallelOptions{.zero = static_cast<int>(site.zero),
                                    .overlap_grad_reduce = site.overlap_grad_reduce,
                                    .overlap_param_gather = site.overlap_param_gather});
  std::vector<optim::OwnedRange> owned;
  for (auto* bucket : model_->buckets()) owned.push_back({bucket, data_parallel_->owned(*bucket)});
  optimizer_ = std::make_unique<optim::Optimizer>(owned, optimizer_options(setup.job.optimizer));
}

Result<Contribution> Rank::compute(std::int64_t step, const pipeline::StepInputs& inputs) {
  model_->begin_step();
  complete_.clear();
  reduced_ = 0;
  HAIRPIN_TRY(auto outcome, executor_->run(step, inputs));
  finish_gradients();
  return contribution(std::move(outcome));
}

double Rank::update(std::int64_t step, double norm) {
  const double rate = learning_rate_.at(step);
  optimizer_->step(rate, optim::clip_scale(norm, setup_.job.optimizer.clip_norm));
  data_parallel_->parameters_updated();
  return rate;
}

void Rank::before_forward(models::Segment& segment) {
  data_parallel_->before_use(segment.bucket());
}

void Rank::gradients_done(models::Segment& segment) {
  model_->finish_gradients(segment);
  complete_.insert(&segment);
  reduce_what_is_due();
}

// A table that another pipeline rank uses, too, waits for that rank at the end of the step.
void Rank::reduce_what_is_due() {
  for (; reduced_ < reductions_.size() && complete_.contains(reductions_[reduced_]); ++reduced_)
    if (tied_ == nullptr || reductions_[reduced_] != model_->tied_apart().segment)
      reduce(*reductions_[reduced_]);
}

void Rank::reduce(models::Segment& segment) {
  parallel::sum_partial_gradients(segment.bucket(), tp_);
  data_parallel_->gradients_ready(segment.bucket());
}

void Rank::finish_gradients() {
  if (tied_ != nullptr) {
    const auto tied = model_->tied_apart();
    tied_->all_reduce(fp32_span(tied.table->gradient));
    reduce(*tied.segment);
  }
  data_parallel_->finish_gradients();
}

// Replicas hold the same gradients and the first speaks for all; with ZeRO each for its share.
Contribution Rank::contribution(pipeline::StepOutcome outcome) {
  Contribution own;
  own.busy_seconds = outcome.busy_seconds();
  own.stage_times = stage_times(outcome.ops);
  if (at_.tp == 0) own.losses = std::move(outcome.losses);
  if (at_.dp > 0 && setup_.site().zero == 0) return own;
  for (const auto& range : model_->ranges())
    for (auto i = range.begin; i < range.end; ++i) {
      const auto& bucket = model_->segment(i).bucket();
      own.terms.emplace_back(i, optim::norm_term(bucket, data_parallel_->owned(bucket),
                                                 norm_type(setup_.job.optimizer.norm_type)));
    }
  return own;
}

}  // namespace hairpin::train
