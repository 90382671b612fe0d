// Executes one rank's list of a schedule, op by op, as it stands.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/models/segment.h"
#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/stage.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::pipeline {

// The microbatches of a step in the one global order; number j is microbatch j / domains of domain
// j % domains.
using StepInputs = std::vector<std::shared_ptr<const models::MicrobatchInput>>;

// When an op ran: from its input's being there to its result's being handed on.
struct OpTime {
  schedule::Op op;
  std::chrono::steady_clock::time_point begin, end;

  std::chrono::nanoseconds duration() const { return end - begin; }
};

struct StepOutcome {
  std::vector<double> losses;  // of each of the step's microbatches; 0 where another rank has it
  std::vector<OpTime> ops;     // of this rank, in their order

  double busy_seconds() const;  // time in ops
};

// Where a rank's ops are recorded: as spans of `thread`, with what they waited for beforehand.
struct OpTrace {
  metrics::Trace* trace = nullptr;  // null: nowhere
  int thread = 0;
};

// Not thread-safe; belongs to one rank.
class Executor {
 public:
  // `stages` by logical stage, those of this rank; `channels` by boundary, those this rank needs.
  // They must outlive the executor.
  Executor(std::shared_ptr<const schedule::Schedule> schedule, int rank,
           std::map<int, Stage*> stages, std::map<int, Channel*> channels,
           const parallel::TensorParallel& tp = {}, const OpTrace& trace = {});

  // The next steps run this order of the same layout's ops. Not while a step runs.
  void follow(std::shared_ptr<const schedule::Schedule> schedule);

  // Runs the rank's ops of one step. Fails when a channel does, or gives a tensor of another number
  // of tokens than its microbatch has; what an op throws is an error that names the op, but for
  // collective::Aborted, which names another rank's.
  Result<StepOutcome> run(std::int64_t step, const StepInputs& inputs);

 private:
  const std::vector<schedule::Op>& own_ops() const;
  Result<void> run(const schedule::Op& op);
  Result<void> forward(const schedule::Op& op);
  Result<void> backward(const schedule::Op& op);
  Result<void> backward_weight(const schedule::Op& op);
  bool last_weights(const schedule::Op& op);
  Result<Tensor> receive(const schedule::Op& op, const Tag& tag);
  Channel& channel(int boundary);
  std::size_t index_of(const schedule::Op& op) const;  // in the step's inputs
  metrics::TraceSpan span_of(const schedule::Op& op, const char* prefix,
                             const char* category) const;

  std::shared_ptr<const schedule::Schedule> schedule_;
  int rank_;
  std::map<int, Stage*> stages_;
  std::map<int, Channel*> channels_;
  const parallel::TensorParallel tp_;
  const OpTrace trace_;
  const schedule::Notation notation_;
  std::map<int, int> weights_ops_;  // of a step, by stage: those that complete weights' gradients

  // Of the step that runs.
  std::int64_t step_ = 0;
  const StepInputs* inputs_ = nullptr;
  std::vector<double> losses_;
  std::vector<OpTime> ops_;
  std::map<int, int> weights_ops_left_;
};

}  // namespace hairpin::pipeline
