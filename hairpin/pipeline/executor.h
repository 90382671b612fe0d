// Executes one rank's list of a schedule, op by op, as it stands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/models/segment.h"
#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/stage.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::pipeline {

// The microbatches of a step in the one global order; number j is microbatch j / domains of domain
// j % domains.
using StepInputs = std::vector<std::shared_ptr<const models::MicrobatchInput>>;

struct StepOutcome {
  double loss = 0;          // sum over microbatches in global order; 0 without the last stage
  double busy_seconds = 0;  // time in ops, waiting for inputs not counted
};

// Not thread-safe; belongs to one rank.
class Executor {
 public:
  // `stages` by logical stage, those of this rank; `channels` by boundary, those this rank needs.
  // All must outlive the executor.
  Executor(const schedule::Schedule& schedule, int rank, std::map<int, Stage*> stages,
           std::map<int, Channel*> channels);

  // Runs the rank's ops of one step. Fails when a channel does, or gives a tensor of another number
  // of tokens than its microbatch has.
  Result<StepOutcome> run(std::int64_t step, const StepInputs& inputs);

 private:
  Result<void> forward(const schedule::Op& op);
  Result<void> backward(const schedule::Op& op);
  Result<Tensor> receive(const Tag& tag);
  Channel& channel(int boundary);
  std::size_t index_of(int microbatch, int domain) const;  // in the step's inputs

  const schedule::Schedule& schedule_;
  int rank_;
  std::map<int, Stage*> stages_;
  std::map<int, Channel*> channels_;

  // Of the step that runs.
  std::int64_t step_ = 0;
  const StepInputs* inputs_ = nullptr;
  std::vector<double> losses_;
  double busy_seconds_ = 0;
};

}  // namespace hairpin::pipeline
