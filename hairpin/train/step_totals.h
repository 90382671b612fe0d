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
#include "hairpin/pipeline/link_session.h"

namespace hairpin::train {

// Of one rank, or of all local ranks together.
struct Contribution {
  std::vector<std::pair<std::int64_t, double>> sums;  // segment, sum of squares of its gradients
  double busy_seconds = 0;
  std::int64_t trained_tokens = 0;  // the edge's, or the whole's, first rank only
};

struct StepTotals {
  double norm = 0;
  std::int64_t trained_tokens = 0;
  double busy_seconds = 0;  // local ranks together
};

// Thread-safe; shared by the local ranks.
class TotalsExchange {
 public:
  // `session` is null for a one-site run; else it must outlive the exchange.
  TotalsExchange(std::int64_t num_segments, int local_ranks, pipeline::LinkSession* session)
      : num_segments_(num_segments), local_ranks_(local_ranks), session_(session) {}

  // Called once a step by each local rank; all get the same totals.
  Result<StepTotals> exchange(std::int64_t step, const Contribution& contribution);

  void fail(Error error);

 private:
  Result<StepTotals> combine(std::int64_t step, std::vector<double> sums, StepTotals totals);

  const std::int64_t num_segments_;
  const int local_ranks_;
  pipeline::LinkSession* session_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<double> sums_;  // by segment; of the step being collected
  StepTotals collected_;
  int arrived_ = 0;
  std::int64_t finished_step_ = -1;
  StepTotals totals_;  // of finished_step_
  std::optional<Error> error_;
};

}  // namespace hairpin::train
