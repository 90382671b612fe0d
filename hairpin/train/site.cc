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

// What the link's two directions did between two looks.
class LinkMeter {
 public:
  LinkMeter(pipeline::LinkSession* session, Part part) : session_(session), part_(part) {
    if (session_ != nullptr) look();
  }
  void read(metrics::StepRecord& record) {
    if (session_ == nullptr) return;
    const auto sent_before = sent_, received_before = received_;
    look();
    const bool edge = part_ == Part::edge;
    const auto out = sent_.bytes - sent_before.bytes;
    const auto in = received_.bytes - received_before.bytes;
    record.link_bytes_up = edge ? out : in;
    record.link_bytes_down = edge ? in : out;
    const auto sent = use(sent_, sent_before), received = use(received_, received_before);
    record.link_up = edge ? sent : received;
    record.link_down = edge ? received : sent;
    const auto estimate = session_->link().estimate();
    if (estimate.rtt_samples > 0) record.rtt_seconds = estimate.rtt_seconds;
    if (estimate.up_samples > 0) record.link_up_bytes_per_second = estimate.up_bytes_per_second;
    if (estimate.down_samples > 0)
      record.link_down_bytes_per_second = estimate.down_bytes_per_second;
  }

 private:
  static metrics::LinkUse use(const link::Traffic& now, const link::Traffic& before) {
    using Seconds = std::chrono::duration<double>;
    return {.queueing_seconds = Seconds(now.queueing - before.queueing).count(),
            .transfer_seconds = Seconds(now.transfer - before.transfer).count(),
            .idle_seconds = Seconds(now.idle - before.idle).count()};
  }
  void look() {
    sent_ = session_->link().sent();
    received_ = session_->link().received();
  }
  pipeline::LinkSession* session_;
  Part part_;
  link::Traffic sent_, received_;
};

// Bytes moved on each axis since the last look.
void note_moved(metrics::StepRecord& record, const mesh::Mesh& mesh, const Moved& now,
                Moved& before) {
  using mesh::Axis;
  if (mesh.degree(Axis::tp) > 1) record.tp_bytes = now.tp - before.tp;
  if (mesh.degree(Axis::dp) > 1) record.dp_bytes = now.dp - before.dp;
  if (mesh.degree(Axis::pp) > 1) record.pp_bytes = now.pp - before.pp;
  before = now;
}

}  // namespace

Site::Site(const Setup& setup, StepSource* source, pipeline::Mailbox& mailbox,
           pipeline::LinkSession* session, Agreement* agreement, std::vector<MemoryMeter>& meters,
           metrics::Trace* trace)
    : setup_(setup),
      source_(source),
      mailbox_(mailbox),
      session_(session),
      trace_(trace),
      mesh_(setup.mesh()),
      meters_(meters),
      groups_(setup, trace),
      totals_(setup.num_segments, mesh_.num_ranks(), norm_type(setup.job.optimizer.norm_type),
              session, agreement),
      members_(meters_.size()) {
  HAIRPIN_CHECK(meters_.size() == static_cast<std::size_t>(mesh_.num_ranks()),
                "{} meters for {} ranks", meters_.size(), mesh_.num_ranks());
  const int tp = mesh_.degree(mesh::Axis::tp);
  for (int rank = 0; rank < mesh_.num_ranks(); rank += tp) row_gathers_.emplace_back(tp);
}

Result<void> Site::run(const Record& record) {
  const auto guarded = [&](int number) {
    try {
      if (auto done = train(number, record); !done) fail(done.error());
    } catch (const collective::Aborted& aborted) {
      fail(aborted.error());
    } catch (const std::exception& failure) {
      fail({ErrorKind::internal,
            fmt::format("{}: {}", setup_.rank_name(mesh_.coordinate(number)), failure.what())});
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int number = 1; number < mesh_.num_ranks(); ++number)
        others.emplace_back(guarded, number);
    } catch (const std::exception& failure) {  // those that run would wait for ever
      fail({ErrorKind::internal,
            fmt::format("{}: its thread could not be started: {}",
                        setup_.rank_name(mesh_.coordinate(static_cast<int>(others.size()) + 1)),
                        failure.what())});
    }
    guarded(0);
  }
  if (const auto error = failed()) return tl::unexpected<Error>(*error);
  return {};
}

std::vector<checkpoint::DividedPart> Site::parts() {
  std::vector<checkpoint::DividedPart> parts;
  for (int pp = 0; pp < mesh_.degree(mesh::Axis::pp); ++pp) {
    auto& group = parts.emplace_back();
    for (int tp = 0; tp < mesh_.degree(mesh::Axis::tp); ++tp) {
      const int number = mesh_.rank({.pp = pp, .tp = tp});
      group.push_back(&members_[static_cast<std::size_t>(number)].rank->model());
    }
  }
  return parts;
}

void Site::make_rank(int number) {
  auto& member = members_[static_cast<std::size_t>(number)];
  const auto tp = groups_.tensor_parallel(number);
  member.local = std::make_unique<pipeline::LocalChannel>(mailbox_, tp.rank());
  if (session_ != nullptr)
    member.link = std::make_unique<pipeline::LinkChannel>(
        *session_, mailbox_, tp, row_gathers_[static_cast<std::size_t>(number / tp.size())]);
  const pipeline::OpTrace op_trace{trace_, number};
  member.rank = std::make_unique<Rank>(setup_, number, groups_, channels_of(number), op_trace);
  if (trace_ != nullptr) trace_->name_thread(number, setup_.rank_name(mesh_.coordinate(number)));
}

Result<void> Site::train(int number, const Record& record) {
  set_compute_threads(setup_.threads());
  MemoryMeter& own_meter = meters_[static_cast<std::size_t>(number)];
  const MeterScope scope(&own_meter, MemoryUse::activations);
  make_rank(number);
  own_meter.reset_largest();
  Rank& rank = *members_[static_cast<std::size_t>(number)].rank;
  const bool lead = number == 0;
  LinkMeter meter(session_, setup_.part);
  Moved moved_before;
  for (std::int64_t i = 0; i < setup_.job.train.steps; ++i) {
    const auto begin = Clock::now();
    HAIRPIN_TRY(const auto inputs, step(i));
    auto own = rank.compute(i, inputs->inputs);
    if (!own) return tl::unexpected(named(number, own.error()));
    own->moved = moved(number);
    own->tokens = inputs->tokens;
    if (lead) own->trained_tokens = inputs->trained_tokens;
    HAIRPIN_TRY(const auto totals, totals_.exchange(i, number, std::move(*own)));
    HAIRPIN_TRY(const auto end, end_step(rank, i, totals));
    if (totals.schedule) rank.follow(totals.schedule);
    if (!lead) continue;

    auto line = step_record(i, totals, end, Clock::now() - begin);
    line.tokens = inputs->tokens;
    line.tokens_per_second = static_cast<double>(inputs->tokens) / line.step_seconds;
    meter.read(line);
    note_moved(line, mesh_, totals.moved, moved_before);
    HAIRPIN_CHECK_OK(record(line));
  }
  rank.finish();
  return {};
}

metrics::StepRecord Site::step_record(std::int64_t step, const StepTotals& totals,
                                      const StepEnd& end, std::chrono::nanoseconds took) const {
  const double seconds = std::chrono::duration<double>(took).count();
  metrics::StepRecord record{
      .step = step + 1, .grad_norm = totals.norm, .learning_rate = end.learning_rate};
  if (setup_.part != Part::cloud && totals.trained_tokens > 0) record.loss = totals.loss;
  record.skipped = end.skipped;
  record.trained_tokens = totals.trained_tokens;
  record.step_seconds = seconds;
  record.peak_memory_bytes = metrics::peak_rss_bytes();
  record.bubble = 1.0 - totals.busy_seconds / (seconds * mesh_.num_ranks());
  record.tensor_memory = tensor_memory();
  return record;
}

Moved Site::moved(int number) const {
  Moved bytes = groups_.moved(number);
  bytes.pp += members_[static_cast<std::size_t>(number)].local->bytes_sent();
  return bytes;
}

// All ranks of both sites have the same totals, and so come to the same end.
Result<Site::StepEnd> Site::end_step(Rank& rank, std::int64_t step,
                                     const StepTotals& totals) const {
  using metrics::Skipped;
  if (totals.trained_tokens == 0) return StepEnd{.skipped = Skipped::no_trained_tokens};
  if (std::isfinite(totals.norm)) return StepEnd{.learning_rate = rank.update(step, totals.norm)};
  if (setup_.job.train.on_nonfinite == config::OnNonfinite::skip)
    return StepEnd{.skipped = Skipped::not_finite};
  // The peer comes to this end by itself if this site's scalars leave before its refusal does;
  // where the peer was first, the link is at its end already.
  if (session_ != nullptr) static_cast<void>(session_->link().flush());
  return hairpin::fail(ErrorKind::internal,
                       "step {}: the gradient norm is not finite; lower optimizer.learning_rate, "
                       "set optimizer.clip_norm, or skip such steps with train.on_nonfinite = "
                       "\"skip\"",
                       step + 1);
}

std::vector<metrics::RankMemory> Site::tensor_memory() const {
  std::vector<metrics::RankMemory> ranks;
  for (int number = 0; number < mesh_.num_ranks(); ++number) {
    const auto& meter = meters_[static_cast<std::size_t>(number)];
    const auto peak = meter.at_peak();
    ranks.push_back({.rank = setup_.rank_name(mesh_.coordinate(number)),
                     .peak = peak.total(),
                     .weights = peak[MemoryUse::weights],
                     .gradients = peak[MemoryUse::gradients],
                     .optimizer = peak[MemoryUse::optimizer],
                     .activations = peak[MemoryUse::activations],
                     .link = peak[MemoryUse::link],
                     .largest = meter.largest().bytes});
  }
  return ranks;
}

// A failure inside a rank says which rank's it is; others', the session's and the peer's come with
// their names.
Error Site::named(int number, Error error) const {
  const bool from_session = session_ != nullptr && session_->error();
  if (error.kind == ErrorKind::internal && !from_session && !groups_.world().error())
    error.message =
        fmt::format("{}: {}", setup_.rank_name(mesh_.coordinate(number)), error.message);
  return error;
}

// The first rank that comes to a step fetches its microbatches for all.
Result<std::shared_ptr<const Step>> Site::step(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  if (const auto error = failed()) return tl::unexpected<Error>(*error);
  if (step_index_ != index) {
    HAIRPIN_CHECK(step_index_ == index - 1, "step {} after {}", index, step_index_);
    auto fetched = source_->next(index);
    if (!fetched) fail(fetched.error());  // before another rank asks for what follows
    HAIRPIN_CHECK_OK(fetched);
    step_ = std::make_shared<const Step>(std::move(*fetched));
    step_index_ = index;
  }
  return step_;
}

// Boundaries at which the next stage lies on another rank; across sites those of the first and of
// the last stage.
std::map<int, pipeline::Channel*> Site::channels_of(int number) {
  const auto& member = members_[static_cast<std::size_t>(number)];
  std::map<int, pipeline::Channel*> channels;
  const int last = setup_.schedule.num_stages() - 2;
  const int list = setup_.schedule_rank(mesh_.coordinate(number));
  for (const int stage : setup_.schedule.stages_of(list))
    for (const int boundary : {stage - 1, stage}) {
      if (boundary < 0 || boundary > last) continue;
      const bool crosses = session_ != nullptr && (boundary == 0 || boundary == last);
      channels[boundary] = crosses ? static_cast<pipeline::Channel*>(member.link.get())
                                   : static_cast<pipeline::Channel*>(member.local.get());
    }
  return channels;
}

// The first failure is the run's: it is noted before anyone is told, so that all that fails because
// of it comes later. The session is told first: it wakes whoever holds `mutex_` while waiting for
// the peer.
void Site::fail(Error error) {
  {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::move(error);
    error = *error_;
  }
  if (session_ != nullptr) session_->fail(error);
  groups_.world().fail(error);
  mailbox_.fail(error);
  totals_.fail(error);
}

std::optional<Error> Site::failed() const {
  const std::lock_guard lock(error_mutex_);
  return error_;
}

}  // namespace hairpin::train
