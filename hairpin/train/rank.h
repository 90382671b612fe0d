// One rank: the part of the model it holds, its stages, its optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hairpin/models/model_part.h"
#include "hairpin/optim/learning_rate.h"
#include "hairpin/optim/optimizer.h"
#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/executor.h"
#include "hairpin/pipeline/stage.h"
#include "hairpin/train/setup.h"
#include "hairpin/train/step_totals.h"

namespace hairpin::train {

// Belongs to one thread.
class Rank {
 public:
  // Allocates and loads the weights. `setup` and `channels` (by boundary) must outlive the rank.
  Rank(const Setup& setup, int rank, std::map<int, pipeline::Channel*> channels);

  struct Gradients {
    double loss = 0;
    Contribution contribution;
  };
  // Forward and backward of all microbatches: afterwards the gradients are whole.
  Result<Gradients> compute(std::int64_t step, const pipeline::StepInputs& inputs);

  // The update, clipped by the global norm. Returns the learning rate.
  double update(std::int64_t step, double norm);

  models::ModelPart& model() { return *model_; }

 private:
  const Setup& setup_;
  std::unique_ptr<models::ModelPart> model_;
  std::vector<std::unique_ptr<pipeline::Stage>> stages_;
  std::unique_ptr<pipeline::Executor> executor_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::LearningRate learning_rate_;
};

}  // namespace hairpin::train
