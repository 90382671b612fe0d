// How both sites of a split run come to run the same order of ops: after each step each tells the
// other what it measured, and from the same numbers both choose alike (schedule/adaptation.h), at
// the same step's end. docs/schedules.md, "Agreement".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/schedule/adaptation.h"
#include "hairpin/schedule/record.h"
#include "hairpin/train/setup.h"
#include "hairpin/wire/message.h"

namespace hairpin::train {

// When a job's order of ops is chosen.
schedule::Adapt adapt_of(const config::Schedule& job);

// Used by one thread at a time.
class Agreement {
 public:
  // Called with each choice and the first step (from 0) that follows it.
  using Observer = std::function<Result<void>(std::int64_t from_step, const schedule::Agreed&)>;

  // `setup` and `session` must outlive the agreement.
  Agreement(const Setup& setup, pipeline::LinkSession& session, Observer observer);

  // A step's end: OWN are this site's stages' times, TOKENS the step's over all microbatches, which
  // both sites know. The peer is told at once; `hear` waits for what it tells, and returns the
  // order that the next steps follow: null where it stays as it is. Errors (peer): times of another
  // step, of stages that aren't the peer's, too long ones, another order than this site's.
  Result<void> tell(std::int64_t step, std::vector<wire::StageTime> own, std::int64_t tokens);
  Result<std::shared_ptr<const schedule::Schedule>> hear(std::int64_t step);

  // The order in force, with the last measured times if there are any.
  schedule::Record record() const;

 private:
  std::uint32_t duration();
  Result<void> check(const wire::StepTimes& peers, std::int64_t step) const;
  std::optional<schedule::Times> times(const wire::StepTimes& peers) const;
  schedule::TransferTimes transfer(wire::Role sender, std::uint64_t receivers,
                                   std::uint64_t senders) const;

  const Setup& setup_;
  pipeline::LinkSession& session_;
  const Observer observer_;
  schedule::Adaptation adaptation_;
  std::uint64_t fingerprint_;
  wire::StepTimes own_;  // of the step that ends
  std::optional<std::chrono::steady_clock::time_point> told_;
  std::int64_t tokens_ = 0;  // of one of its microbatches
};

}  // namespace hairpin::train
