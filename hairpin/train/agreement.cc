#include "hairpin/train/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/codec/codec.h"
#include "hairpin/schedule/fingerprint.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::train {
namespace {

constexpr double kMostBandwidth = 1e15;  // bytes a second

std::uint32_t microseconds(double seconds) {
  return static_cast<std::uint32_t>(
      std::clamp(seconds * 1e6, 1.0, static_cast<double>(schedule::kMaxMicroseconds)));
}

// What the peer claims may be anything.
std::uint64_t known(double rate, std::uint64_t samples) {
  return samples > 0 ? static_cast<std::uint64_t>(std::clamp(rate, 0.0, kMostBandwidth)) : 0;
}

void set(schedule::Times& times, const wire::StageTime& stage) {
  times.forward[stage.stage] = stage.forward;
  times.backward[stage.stage] = stage.backward;
  times.backward_weight[stage.stage] = stage.backward_weight;
}

}  // namespace

schedule::Adapt adapt_of(const config::Schedule& job) {
  using schedule::Adapt;
  if (job.kind != "hairpin-adaptive") return Adapt::never;
  return job.adapt.value_or(true) ? Adapt::always : Adapt::once;
}

Agreement::Agreement(const Setup& setup, pipeline::LinkSession& session, Observer observer)
    : setup_(setup),
      session_(session),
      observer_(std::move(observer)),
      adaptation_(std::make_shared<const schedule::Schedule>(setup.schedule),
                  setup.schedule_options(), adapt_of(setup.job.schedule)),
      fingerprint_(schedule::fingerprint(setup.schedule)) {}

Result<void> Agreement::tell(std::int64_t step, std::vector<wire::StageTime> own,
                             std::int64_t tokens) {
  const auto microbatches = setup_.microbatches_per_step();
  tokens_ = (tokens + microbatches - 1) / microbatches;
  const auto link = session_.link().estimate();
  own_ = {.step = static_cast<std::uint32_t>(step),
          .schedule = fingerprint_,
          .duration = duration(),
          .latency = link.rtt_samples > 0 ? microseconds(link.min_rtt_seconds / 2) : 0,
          .up_bandwidth = known(link.up_bytes_per_second, link.up_samples),
          .down_bandwidth = known(link.down_bytes_per_second, link.down_samples),
          .stages = std::move(own)};
  return session_.send(own_);
}

// From one step's end to the next one's.
std::uint32_t Agreement::duration() {
  const auto now = std::chrono::steady_clock::now();
  const auto before = std::exchange(told_, now);
  return before ? microseconds(std::chrono::duration<double>(now - *before).count()) : 0;
}

Result<std::shared_ptr<const schedule::Schedule>> Agreement::hear(std::int64_t step) {
  HAIRPIN_TRY(const auto peers, session_.next_times());
  HAIRPIN_CHECK_OK(check(peers, step));
  const auto measured = times(peers);
  if (!measured) return nullptr;
  adaptation_.add(*measured, setup_.part == Part::edge ? own_.duration : peers.duration);
  if (step + 1 == setup_.job.train.steps) return nullptr;
  const auto agreed = adaptation_.choose();
  if (!agreed) return nullptr;
  HAIRPIN_CHECK_OK(observer_(step + 1, *agreed));
  if (agreed->same_order) return nullptr;
  fingerprint_ = schedule::fingerprint(*agreed->schedule);
  return agreed->schedule;
}

Result<void> Agreement::check(const wire::StepTimes& peers, std::int64_t step) const {
  if (peers.step != step)
    return fail(ErrorKind::peer, "the peer's times are of step {}, due is {}", peers.step, step);
  if (peers.schedule != fingerprint_)
    return fail(ErrorKind::peer,
                "the peer ran step {} in another order than this site; run the same release of "
                "Hairpin on both sites",
                step + 1);
  std::vector<int> due, told;
  for (int stage = 0; stage < setup_.schedule.num_stages(); ++stage) {
    const bool edge = setup_.schedule.position_of_stage[static_cast<std::size_t>(stage)] == 0;
    if (edge != (setup_.part == Part::edge)) due.push_back(stage);
  }
  for (const auto& stage : peers.stages) {
    told.push_back(stage.stage);
    if (std::max(stage.forward, stage.backward) > schedule::kMaxMicroseconds ||
        stage.backward_weight > stage.backward)
      return fail(ErrorKind::peer, "the peer's times of stage {} can't be", stage.stage);
  }
  if (told != due)
    return fail(ErrorKind::peer, "the peer sent times of stages that are not its own");
  if (peers.latency > schedule::kMaxMicroseconds)
    return fail(ErrorKind::peer, "the peer measured a latency of {} us, which can't be",
                peers.latency);
  return {};
}

// What both sites know alike: the lesser of two latencies, and of a direction's bandwidth what its
// receiver saw. Nothing before the latency is known.
std::optional<schedule::Times> Agreement::times(const wire::StepTimes& peers) const {
  if (own_.latency == 0 && peers.latency == 0) return std::nullopt;
  const auto num_stages = setup_.schedule.position_of_stage.size();
  schedule::Times times;
  for (auto* list : {&times.forward, &times.backward, &times.backward_weight})
    list->resize(num_stages);
  for (const auto* side : {&std::as_const(own_), &peers})
    for (const auto& stage : side->stages) set(times, stage);
  if (setup_.schedule.split_backward.empty()) times.backward_weight.clear();
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  times.latency = std::min(own_.latency == 0 ? kNone : own_.latency,
                           peers.latency == 0 ? kNone : peers.latency);
  const bool edge = setup_.part == Part::edge;
  const auto& at_edge = edge ? own_ : peers;
  const auto& at_cloud = edge ? peers : own_;
  times.up = transfer(wire::Role::edge, at_cloud.up_bandwidth, at_edge.up_bandwidth);
  times.down = transfer(wire::Role::cloud, at_edge.down_bandwidth, at_cloud.down_bandwidth);
  return times;
}

// Of a microbatch's tensors from SENDER, at the bandwidth that the receiver measured, or else what
// the sender knows of it; nothing where neither knows any yet.
schedule::TransferTimes Agreement::transfer(wire::Role sender, std::uint64_t receivers,
                                            std::uint64_t senders) const {
  const auto bandwidth = std::min<std::uint64_t>(receivers > 0 ? receivers : senders,
                                                 std::numeric_limits<std::int64_t>::max());
  if (bandwidth == 0) return {};
  const auto codecs = setup_.codecs();
  const auto time = [&](wire::TensorKind kind) {
    const auto bytes =
        wire::kTensorFrameBytes +
        codec::encoded_size(codecs.of(kind, sender), static_cast<std::uint32_t>(tokens_),
                            static_cast<std::uint32_t>(setup_.model.architecture.hidden_size));
    const auto busy = schedule::transfer_microseconds(static_cast<std::int64_t>(bytes),
                                                      static_cast<std::int64_t>(bandwidth));
    return busy ? *busy : schedule::kMaxMicroseconds;  // longer than any: no order helps
  };
  return {time(wire::TensorKind::activation), time(wire::TensorKind::gradient)};
}

schedule::Record Agreement::record() const {
  schedule::Record record{.schedule = *adaptation_.schedule(),
                          .in_flight_cap = setup_.schedule_options().in_flight_cap};
  if (adaptation_.recent().count() > 0) record.times = adaptation_.recent().median();
  return record;
}

}  // namespace hairpin::train
