// The step loop of a site: its ranks as threads, from the first step to the last.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/mesh/mesh.h"
#include "hairpin/metrics/step_record.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/pipeline/link_channel.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/train/agreement.h"
#include "hairpin/train/rank.h"
#include "hairpin/train/setup.h"
#include "hairpin/train/site_groups.h"
#include "hairpin/train/step_totals.h"
#include "hairpin/train/steps.h"

namespace hairpin::train {

class Site {
 public:
  using Record = std::function<Result<void>(const metrics::StepRecord&)>;

  // `source` may be null when there are no steps. `mailbox` carries tensors between local ranks and
  // from `session`, which is null for a one-site run, as `agreement` is. `meters` are the ranks',
  // by rank of the mesh. `trace` may be null. All of them must outlive the site.
  Site(const Setup& setup, StepSource* source, pipeline::Mailbox& mailbox,
       pipeline::LinkSession* session, Agreement* agreement, std::vector<MemoryMeter>& meters,
       metrics::Trace* trace = nullptr);

  // Loads the weights and trains all steps; `record` gets one record a step, from one thread. The
  // first failure of any rank ends all ranks and the peer, and is the result.
  Result<void> run(const Record& record);

  // After a successful run: the model that this site has trained, by pipeline rank, as the parts of
  // a tensor-parallel group. The edge's one entry holds both its ends. Replicas hold the same.
  std::vector<checkpoint::DividedPart> parts();

 private:
  // What one rank's thread has of its own.
  struct Member {
    std::unique_ptr<pipeline::LocalChannel> local;
    std::unique_ptr<pipeline::LinkChannel> link;
    std::unique_ptr<Rank> rank;
  };
  // How a step ended: updated at a learning rate, or skipped.
  struct StepEnd {
    double learning_rate = 0;
    std::optional<metrics::Skipped> skipped;
  };
  Result<void> train(int number, const Record& record);
  void make_rank(int number);
  Result<StepEnd> end_step(Rank& rank, std::int64_t step, const StepTotals& totals) const;
  metrics::StepRecord step_record(std::int64_t step, const StepTotals& totals, const StepEnd& end,
                                  std::chrono::nanoseconds took) const;
  std::vector<metrics::RankMemory> tensor_memory() const;
  Moved moved(int number) const;
  Result<std::shared_ptr<const Step>> step(std::int64_t index);
  std::map<int, pipeline::Channel*> channels_of(int number);
  Error named(int number, Error error) const;
  void fail(Error error);
  std::optional<Error> failed() const;

  const Setup& setup_;
  StepSource* source_;
  pipeline::Mailbox& mailbox_;
  pipeline::LinkSession* session_;
  metrics::Trace* trace_;
  const mesh::Mesh mesh_;
  std::vector<MemoryMeter>& meters_;
  SiteGroups groups_;
  TotalsExchange totals_;
  std::deque<pipeline::RowGather> row_gathers_;  // by tensor-parallel group
  std::vector<Member> members_;                  // by rank of the mesh

  std::mutex mutex_;  // of the step that runs
  std::int64_t step_index_ = -1;
  std::shared_ptr<const Step> step_;
  mutable std::mutex error_mutex_;
  std::optional<Error> error_;  // the first
};

}  // namespace hairpin::train
