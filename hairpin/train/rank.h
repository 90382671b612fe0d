// One rank: the part of the model it holds, its stages, its optimizer, and its place among the
// ranks it works with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "hairpin/models/model_part.h"
#include "hairpin/optim/learning_rate.h"
#include "hairpin/optim/optimizer.h"
#include "hairpin/parallel/data_parallel.h"
#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/executor.h"
#include "hairpin/pipeline/segment_stage.h"
#include "hairpin/train/setup.h"
#include "hairpin/train/site_groups.h"
#include "hairpin/train/step_totals.h"

namespace hairpin::train {

optim::NormType norm_type(config::NormType type);

// Belongs to one thread.
class Rank : private pipeline::SegmentEvents {
 public:
  // Allocates and loads the weights. `number` counts in setup.mesh(). `setup`, `groups` and
  // `channels` (by boundary) must outlive the rank.
  Rank(const Setup& setup, int number, const SiteGroups& groups,
       std::map<int, pipeline::Channel*> channels, const pipeline::OpTrace& trace = {});

  // Forward and backward of all its microbatches: afterwards its gradients are those of the step.
  Result<Contribution> compute(std::int64_t step, const pipeline::StepInputs& inputs);

  // The next steps run this order of the same ops.
  void follow(std::shared_ptr<const schedule::Schedule> schedule) {
    executor_->follow(std::move(schedule));
  }

  // The update, clipped by the global norm. Returns the learning rate.
  double update(std::int64_t step, double norm);

  // Before the model is read: all of it is updated.
  void finish() { data_parallel_->finish_parameters(); }

  models::ModelPart& model() { return *model_; }

 private:
  void before_forward(models::Segment& segment) override;
  void gradients_done(models::Segment& segment) override;
  void reduce(models::Segment& segment);
  void reduce_what_is_due();
  void finish_gradients();
  Contribution contribution(pipeline::StepOutcome outcome);

  const Setup& setup_;
  const mesh::Coordinate at_;
  const parallel::TensorParallel tp_;
  collective::Group* tied_;  // null unless this rank holds one of two uses of a tied table
  std::unique_ptr<models::ModelPart> model_;
  std::vector<std::unique_ptr<pipeline::SegmentStage>> stages_;
  // In the order in which their reductions begin: all replicas must begin them alike, and replicas
  // of an edge may end their two stages in different orders.
  std::vector<models::Segment*> reductions_;
  std::set<const models::Segment*> complete_;  // of the step that runs
  std::size_t reduced_ = 0;
  std::unique_ptr<pipeline::Executor> executor_;
  std::unique_ptr<parallel::DataParallel> data_parallel_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::LearningRate learning_rate_;
};

}  // namespace hairpin::train
