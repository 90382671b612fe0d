// The step loop of a site: its ranks as threads, from the first step to the last.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/metrics/step_record.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/train/rank.h"
#include "hairpin/train/setup.h"
#include "hairpin/train/step_totals.h"
#include "hairpin/train/steps.h"

namespace hairpin::train {

class Site {
 public:
  using Record = std::function<Result<void>(const metrics::StepRecord&)>;

  // `source` may be null when there are no steps. `mailbox` carries tensors between local ranks and
  // from `session`, which is null for a one-site run. All of them must outlive the site.
  Site(const Setup& setup, StepSource* source, pipeline::Mailbox& mailbox,
       pipeline::LinkSession* session);

  // Loads the weights and trains all steps; `record` gets one record a step, from one thread. The
  // first failure of any rank ends all ranks and the peer, and is the result.
  Result<void> run(const Record& record);

  // After a successful run: the local ranks' parts of the model, in model order for the cloud and
  // the whole; the edge's one part holds both its ends.
  std::vector<models::ModelPart*> parts();

 private:
  Result<void> train(std::size_t index, int rank, const Record& record);
  Result<std::shared_ptr<const Step>> step(std::int64_t index);
  std::map<int, pipeline::Channel*> channels_of(int rank);
  void fail(const Error& error);

  const Setup& setup_;
  StepSource* source_;
  pipeline::Mailbox& mailbox_;
  pipeline::LinkSession* session_;
  pipeline::LocalChannel local_channel_;
  std::optional<pipeline::LinkChannel> link_channel_;
  TotalsExchange totals_;
  std::vector<std::unique_ptr<Rank>> ranks_;

  std::mutex mutex_;  // of the rest
  std::int64_t step_index_ = -1;
  std::shared_ptr<const Step> step_;
  std::optional<Error> error_;
};

}  // namespace hairpin::train
