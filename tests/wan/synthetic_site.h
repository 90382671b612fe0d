// One site of a synthetic run: its ranks as threads, each with an executor and stages that wait,
// between a link and the boundary of a step as the product has them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/link/link.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/pipeline/executor.h"
#include "hairpin/pipeline/link_channel.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/train/step_totals.h"
#include "tests/wan/synthetic_plan.h"
#include "tests/wan/synthetic_stage.h"

namespace hairpin::wan {

// What a rank did; the steps' times are the edge's.
struct SyntheticStep {
  double seconds = 0;          // from this step's start to the next one's
  std::vector<double> losses;  // by microbatch; the edge's
};
struct SyntheticRank {
  int rank = 0;                                      // in the schedule
  std::map<int, SyntheticStage> stages;              // by logical stage
  std::vector<schedule::Op> calls;                   // all ops that stages were called for
  std::vector<std::vector<pipeline::OpTime>> times;  // by step
};

class SyntheticSite {
 public:
  // All must outlive the site. `trace` may be null.
  SyntheticSite(const SyntheticPlan& plan, wire::Role role, link::Link& link,
                metrics::Trace* trace = nullptr);

  // Handshake, all steps, goodbyes; once. The first failure ends all ranks and the peer.
  Result<void> run();

  // Afterwards.
  const std::vector<SyntheticStep>& steps() const { return steps_; }
  const std::deque<SyntheticRank>& ranks() const { return ranks_; }

 private:
  Result<void> run_ranks();
  Result<void> train(SyntheticRank& member);
  Result<void> begin_step(std::int64_t step);
  std::map<int, pipeline::Channel*> channels_of(int rank);
  train::Contribution contribution(const SyntheticRank& member) const;
  Result<void> part();
  void fail(Error error);

  const SyntheticPlan& plan_;
  const wire::Role role_;
  link::Link& link_;
  metrics::Trace* const trace_;
  const std::shared_ptr<const schedule::Schedule> schedule_;
  std::deque<SyntheticRank> ranks_;
  pipeline::StepInputs inputs_;  // the same in each step
  pipeline::Mailbox mailbox_;
  std::optional<pipeline::LinkSession> session_;
  pipeline::RowGather gather_{1};
  std::optional<pipeline::LocalChannel> local_;
  std::optional<pipeline::LinkChannel> far_;
  std::optional<train::TotalsExchange> totals_;

  std::mutex mutex_;
  std::int64_t begun_ = -1;  // the last step whose manifest is here
  std::optional<Error> error_;
  std::vector<SyntheticStep> steps_;
};

}  // namespace hairpin::wan
