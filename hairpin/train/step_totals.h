// What all ranks of both sites contribute to and need at the end of a step: above all the global
// gradient norm. The scalars are pushed, never requested: the site's last rank to finish its
// gradients sends the site's, then waits for the peer's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/optim/gradient_norm.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/train/agreement.h"
#include "hairpin/train/moved.h"

namespace hairpin::train {

// Of one rank.
struct Contribution {
  // Segment, and the rank's term of its gradients' norm (optim::norm_term). Replicas with equal
  // gradients contribute once.
  std::vector<std::pair<std::int64_t, double>> terms;
  // Of each of the step's microbatches; 0 where another rank has it. Empty without the last stage.
  std::vector<double> losses;
  double busy_seconds = 0;
  std::vector<wire::StageTime> stage_times;  // stage_times.h
  std::int64_t tokens = 0;                   // of all microbatches
  std::int64_t trained_tokens = 0;           // the edge's, or the whole's, first rank only
  Moved moved;                               // so far
};

struct StepTotals {
  double norm = 0;
  double loss = 0;  // sum over microbatches in the one global order
  std::int64_t trained_tokens = 0;
  double busy_seconds = 0;  // local ranks together, as is
  Moved moved;
  // What the next steps follow; null: as before.
  std::shared_ptr<const schedule::Schedule> schedule;
};

// Thread-safe; shared by the local ranks.
class TotalsExchange {
 public:
  // `session` is null for a one-site run, `agreement` where no order is agreed on; they must
  // outlive the exchange.
  TotalsExchange(std::int64_t num_segments, int local_ranks, optim::NormType norm,
                 pipeline::LinkSession* session, Agreement* agreement = nullptr)
      : num_segments_(num_segments),
        norm_(norm),
        session_(session),
        agreement_(agreement),
        contributions_(static_cast<std::size_t>(local_ranks)) {}

  // Called once a step by each local rank; all get the same totals, joined in the ranks' order.
  Result<StepTotals> exchange(std::int64_t step, int rank, Contribution contribution);

  void fail(Error error);

 private:
  Result<StepTotals> combine(std::int64_t step);
  Result<void> tell_times(std::int64_t step);
  std::vector<double> site_terms() const;
  StepTotals site_totals() const;

  const std::int64_t num_segments_;
  const optim::NormType norm_;
  pipeline::LinkSession* session_;
  Agreement* agreement_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Contribution> contributions_;  // by rank; of the step being collected
  std::size_t arrived_ = 0;
  std::int64_t finished_step_ = -1;
  StepTotals totals_;  // of finished_step_
  std::optional<Error> error_;
};

}  // namespace hairpin::train
