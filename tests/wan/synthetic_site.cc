#include "tests/wan/synthetic_site.h"

#include <chrono>
#include <thread>

#include "hairpin/link/handshake.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::wan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

nanoseconds microseconds(double time) {
  return duration_cast<nanoseconds>(std::chrono::duration<double, std::micro>(time));
}

// As train/run.cc has them.
pipeline::SessionOptions session_options(const SyntheticPlan& plan, wire::Role role) {
  const auto& schedule = plan.schedule;
  const auto codec = plan.options.codec;
  const int last = schedule.num_stages() - 2;
  const bool edge = role == wire::Role::edge;
  pipeline::SessionOptions options;
  options.role = role;
  options.codecs = {codec, codec, codec, codec};
  options.expected = {{wire::TensorKind::activation, edge ? last : 0},
                      {wire::TensorKind::gradient, edge ? 0 : last}};
  options.microbatches = schedule.microbatches;
  options.hidden = plan.options.hidden;
  options.max_tokens = plan.options.tokens;
  options.max_waiting = 2 * static_cast<std::size_t>(plan.simulation.peak_in_flight.rank.front());
  return options;
}

SyntheticStage::Options stage_options(const SyntheticPlan& plan, int stage,
                                      std::vector<schedule::Op>& calls) {
  const auto& costs = plan.costs;
  const auto index = static_cast<std::size_t>(stage);
  return {.stage = stage,
          .num_stages = plan.schedule.num_stages(),
          .hidden = plan.options.hidden,
          .forward = microseconds(costs.forward[index]),
          .backward = microseconds(costs.backward[index]),
          .backward_weight = microseconds(costs.weight_part(stage)),
          .calls = &calls};
}

}  // namespace

SyntheticSite::SyntheticSite(const SyntheticPlan& plan, wire::Role role, link::Link& link,
                             metrics::Trace* trace)
    : plan_(plan),
      role_(role),
      link_(link),
      trace_(trace),
      schedule_(std::make_shared<const schedule::Schedule>(plan.schedule)) {
  for (int rank = 0; rank < schedule_->num_ranks(); ++rank) {
    if (schedule_->is_edge(rank) != (role == wire::Role::edge)) continue;
    auto& member = ranks_.emplace_back();
    member.rank = rank;
    for (const int stage : schedule_->stages_of(rank))
      member.stages.emplace(stage, stage_options(plan, stage, member.calls));
    if (trace_ != nullptr)
      trace_->name_thread(rank, schedule::rank_labels(*schedule_)[static_cast<std::size_t>(rank)]);
  }
  const auto input = [&] {
    auto made = std::make_shared<models::MicrobatchInput>();
    made->layout.append(plan.options.tokens);
    return made;
  };
  for (int i = 0; i < schedule_->microbatches; ++i) inputs_.push_back(input());
}

Result<void> SyntheticSite::run() {
  const auto& o = plan_.options;
  link_.set_max_frame_bytes((std::uint64_t{1} << 20) +
                            static_cast<std::uint64_t>(o.tokens * o.hidden) * sizeof(float));
  HAIRPIN_CHECK_OK(link::handshake(link_, role_, contract_of(o), "synthetic run"));
  session_.emplace(link_, mailbox_, session_options(plan_, role_));
  local_.emplace(mailbox_, 0);
  far_.emplace(*session_, mailbox_, parallel::TensorParallel{}, gather_);
  totals_.emplace(schedule_->num_stages(), static_cast<int>(ranks_.size()), optim::NormType::two,
                  &*session_);
  HAIRPIN_CHECK_OK(run_ranks());
  return part();
}

Result<void> SyntheticSite::run_ranks() {
  {
    std::vector<std::jthread> threads;
    for (auto& member : ranks_)
      threads.emplace_back([this, &member] {
        try {
          if (auto done = train(member); !done) fail(done.error());
        } catch (const std::exception& failure) {
          fail({ErrorKind::internal, failure.what()});
        }
      });
  }
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

Result<void> SyntheticSite::train(SyntheticRank& member) {
  set_compute_threads(1);
  be_punctual();
  std::map<int, pipeline::Stage*> stages;
  for (auto& [index, stage] : member.stages) stages[index] = &stage;
  pipeline::Executor executor(schedule_, member.rank, stages, channels_of(member.rank), {},
                              {trace_, member.rank});
  const int local = static_cast<int>(&member - &ranks_.front());
  for (std::int64_t step = 0; step < plan_.options.steps; ++step) {
    const auto begin = Clock::now();
    HAIRPIN_CHECK_OK(begin_step(step));
    HAIRPIN_TRY(auto outcome, executor.run(step, inputs_));
    HAIRPIN_CHECK_OK(totals_->exchange(step, local, contribution(member)));
    const std::chrono::duration<double> passed = Clock::now() - begin;
    member.times.push_back(std::move(outcome.ops));
    if (local == 0) steps_.push_back({passed.count(), std::move(outcome.losses)});
  }
  return {};
}

// The edge's manifest; in the cloud the first rank that comes to a step takes it for all.
Result<void> SyntheticSite::begin_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (begun_ >= step) return {};
  if (role_ == wire::Role::edge) {
    wire::Manifest manifest{.step = static_cast<std::uint32_t>(step)};
    const auto tokens = static_cast<std::uint32_t>(plan_.options.tokens);
    manifest.microbatches.assign(inputs_.size(), {{{tokens, 0}}});
    HAIRPIN_CHECK_OK(session_->send(std::move(manifest)));
  } else {
    HAIRPIN_TRY(const auto manifest, session_->next_manifest());
    if (manifest.step != step || manifest.microbatches.size() != inputs_.size())
      return hairpin::fail(ErrorKind::peer, "the manifest is of step {}, due is {}", manifest.step,
                           step);
  }
  begun_ = step;
  return {};
}

// As the product's site has them: the first and the last boundary are the link's.
std::map<int, pipeline::Channel*> SyntheticSite::channels_of(int rank) {
  std::map<int, pipeline::Channel*> channels;
  const int last = schedule_->num_stages() - 2;
  for (const int stage : schedule_->stages_of(rank))
    for (const int boundary : {stage - 1, stage}) {
      if (boundary < 0 || boundary > last) continue;
      const bool crosses = boundary == 0 || boundary == last;
      channels[boundary] = crosses ? static_cast<pipeline::Channel*>(&*far_)
                                   : static_cast<pipeline::Channel*>(&*local_);
    }
  return channels;
}

// One term a stage stands for its segments'.
train::Contribution SyntheticSite::contribution(const SyntheticRank& member) const {
  train::Contribution own;
  for (const auto& [index, stage] : member.stages) own.terms.emplace_back(index, 1.0);
  if (role_ == wire::Role::edge) own.trained_tokens = plan_.options.tokens;
  return own;
}

// The edge says goodbye first.
Result<void> SyntheticSite::part() {
  if (role_ == wire::Role::edge) HAIRPIN_CHECK_OK(session_->send(wire::Goodbye{}));
  HAIRPIN_TRY(const auto last, session_->next_control());
  if (!std::holds_alternative<wire::Goodbye>(last))
    return hairpin::fail(ErrorKind::peer, "a {} message where a goodbye is due",
                         wire::message_name(last));
  if (role_ == wire::Role::cloud) HAIRPIN_CHECK_OK(session_->send(wire::Goodbye{}));
  return link_.flush();
}

void SyntheticSite::fail(Error error) {
  session_->fail(error);
  mailbox_.fail(error);
  totals_->fail(error);
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

}  // namespace hairpin::wan
