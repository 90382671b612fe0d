#include "hairpin/train/site.h"

#include <chrono>
#include <cmath>
#include <exception>
#include <thread>

#include "hairpin/base/check.h"
#include "hairpin/metrics/peak_rss.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::train {
namespace {

using Clock = std::chrono::steady_clock;

// Bytes on the link between two looks, by direction.
class LinkMeter {
 public:
  LinkMeter(pipeline::LinkSession* session, Part part) : session_(session), part_(part) {
    if (session_ != nullptr) look();
  }
  void read(metrics::StepRecord& record) {
    if (session_ == nullptr) return;
    const auto sent_before = sent_, received_before = received_;
    look();
    const auto out = sent_.bytes - sent_before.bytes;
    const auto in = received_.bytes - received_before.bytes;
    record.link_bytes_up = part_ == Part::edge ? out : in;
    record.link_bytes_down = part_ == Part::edge ? in : out;
  }

 private:
  void look() {
    sent_ = session_->link().sent();
    received_ = session_->link().received();
  }
  pipeline::LinkSession* session_;
  Part part_;
  link::Traffic sent_, received_;
};

}  // namespace

Site::Site(const Setup& setup, StepSource* source, pipeline::Mailbox& mailbox,
           pipeline::LinkSession* session)
    : setup_(setup),
      source_(source),
      mailbox_(mailbox),
      session_(session),
      local_channel_(mailbox),
      totals_(setup.num_segments, static_cast<int>(setup.local_ranks().size()), session),
      ranks_(setup.local_ranks().size()) {
  if (session_ != nullptr) link_channel_.emplace(*session_, mailbox_);
}

Result<void> Site::run(const Record& record) {
  const auto local = setup_.local_ranks();
  const auto guarded = [&](std::size_t index) {
    try {
      if (auto done = train(index, local[index], record); !done) fail(done.error());
    } catch (const std::exception& failure) {
      fail({ErrorKind::internal, fmt::format("rank {}: {}", local[index], failure.what())});
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < local.size(); ++i) others.emplace_back(guarded, i);
    guarded(0);
  }
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

std::vector<models::ModelPart*> Site::parts() {
  std::vector<models::ModelPart*> parts;
  for (const auto& rank : ranks_) parts.push_back(&rank->model());
  return parts;
}

Result<void> Site::train(std::size_t index, int rank_number, const Record& record) {
  set_compute_threads(setup_.threads());
  ranks_[index] = std::make_unique<Rank>(setup_, rank_number, channels_of(rank_number));
  Rank& rank = *ranks_[index];
  const bool lead = index == 0;
  LinkMeter meter(session_, setup_.part);
  for (std::int64_t i = 0; i < setup_.job.train.steps; ++i) {
    const auto begin = Clock::now();
    HAIRPIN_TRY(const auto inputs, step(i));
    HAIRPIN_TRY(auto gradients, rank.compute(i, inputs->inputs));
    if (lead) gradients.contribution.trained_tokens = inputs->trained_tokens;
    HAIRPIN_TRY(const auto totals, totals_.exchange(i, gradients.contribution));
    if (!std::isfinite(totals.norm))
      return hairpin::fail(ErrorKind::internal,
                           "step {}: the gradient norm is not finite; lower "
                           "optimizer.learning_rate or set optimizer.clip_norm",
                           i + 1);
    const double rate = rank.update(i, totals.norm);
    if (!lead) continue;

    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    metrics::StepRecord line{.step = i + 1, .grad_norm = totals.norm, .learning_rate = rate};
    if (setup_.part != Part::cloud) line.loss = gradients.loss;
    line.tokens = inputs->tokens;
    line.trained_tokens = totals.trained_tokens;
    line.step_seconds = seconds;
    line.tokens_per_second = static_cast<double>(inputs->tokens) / seconds;
    line.peak_memory_bytes = metrics::peak_rss_bytes();
    line.bubble = 1.0 - totals.busy_seconds / (seconds * static_cast<double>(ranks_.size()));
    meter.read(line);
    HAIRPIN_CHECK_OK(record(line));
  }
  return {};
}

// The first rank that comes to a step fetches its microbatches for all.
Result<std::shared_ptr<const Step>> Site::step(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected<Error>(*error_);
  if (step_index_ != index) {
    HAIRPIN_CHECK(step_index_ == index - 1, "step {} after {}", index, step_index_);
    HAIRPIN_TRY(auto fetched, source_->next(index));
    step_ = std::make_shared<const Step>(std::move(fetched));
    step_index_ = index;
  }
  return step_;
}

// Boundaries at which the next stage lies on another rank; across sites those of the first and of
// the last stage.
std::map<int, pipeline::Channel*> Site::channels_of(int rank) {
  std::map<int, pipeline::Channel*> channels;
  const int last = setup_.schedule.num_stages() - 2;
  for (const int stage : setup_.stages_of(rank))
    for (const int boundary : {stage - 1, stage}) {
      if (boundary < 0 || boundary > last) continue;
      const bool crosses = session_ != nullptr && (boundary == 0 || boundary == last);
      channels[boundary] =
          crosses ? static_cast<pipeline::Channel*>(&*link_channel_) : &local_channel_;
    }
  return channels;
}

// The session is told first: it wakes whoever holds the mutex while waiting for the peer.
void Site::fail(const Error& error) {
  if (session_ != nullptr) session_->fail(error);
  mailbox_.fail(error);
  totals_.fail(error);
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
}

}  // namespace hairpin::train
