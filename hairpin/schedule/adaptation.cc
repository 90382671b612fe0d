#include "hairpin/schedule/adaptation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/base/lesser_median.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/replay.h"

namespace hairpin::schedule {
namespace {

Costs costs_of(const Schedule& schedule, const Times& times) {
  auto costs = to_costs(schedule, times);
  HAIRPIN_CHECK(costs.has_value(), "{}", costs.error().message);
  return std::move(*costs);
}

double step_of(const Schedule& schedule, const Times& times) {
  return replay(schedule, costs_of(schedule, times)).step;
}

std::string place_of(const Schedule& schedule, std::size_t stage) {
  if (stage == 0) return "the edge's head";
  if (stage + 1 == schedule.position_of_stage.size()) return "the edge's tail";
  return fmt::format("cloud {}", schedule.position_of_stage[stage]);
}

constexpr int kCrossings = 4;  // of the link by a microbatch
constexpr double kNextToNothing = 1.002;
constexpr int kLeastCap = 2;  // the caps that are tried: 2, 3, 5, 8, 12, 18, ...

// What the busiest rank works for a microbatch of each domain: the edge does all of its stages.
std::int64_t period_of(const Schedule& schedule, const Times& times) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(schedule.pp()));
  for (std::size_t stage = 0; stage < times.forward.size(); ++stage)
    work[static_cast<std::size_t>(schedule.position_of_stage[stage])] +=
        times.forward[stage] + times.backward[stage];
  if (schedule.edge_ranks > 0)  // replicas share the microbatches of all domains
    work.front() = work.front() * schedule.domains / schedule.edge_ranks;
  return *std::max_element(work.begin(), work.end());
}

// What moved most, in time.
class Change {
 public:
  void offer(std::string what, std::int64_t before, std::int64_t now) {
    if (!what_.empty() && std::llabs(now - before) <= std::llabs(now_ - before_)) return;
    what_ = std::move(what);
    before_ = before;
    now_ = now;
  }
  std::string text() const {
    return fmt::format("{} went from {:.1f} to {:.1f} ms", what_,
                       static_cast<double>(before_) * 1e-3, static_cast<double>(now_) * 1e-3);
  }

 private:
  std::string what_;
  std::int64_t before_ = 0, now_ = 0;
};

std::string reason_of(const Schedule& schedule, const Times& before, const Times& now) {
  Change change;
  for (std::size_t stage = 0; stage < now.forward.size(); ++stage)
    change.offer(place_of(schedule, stage) + "'s time for a microbatch",
                 before.forward[stage] + before.backward[stage],
                 now.forward[stage] + now.backward[stage]);
  const auto transfer = [](const TransferTimes& times) {
    return times.activation + times.gradient;
  };
  change.offer("a microbatch's transfer to the cloud", transfer(before.up), transfer(now.up));
  change.offer("a microbatch's transfer to the edge", transfer(before.down), transfer(now.down));
  change.offer("the link's latency", before.latency, now.latency);
  return change.text();
}

}  // namespace

Adaptation::Adaptation(std::shared_ptr<const Schedule> first, GenerateOptions options, Adapt adapt)
    : schedule_(std::move(first)), options_(std::move(options)), adapt_(adapt) {}

bool Adaptation::due(const Times& now) const {
  if (adapt_ == Adapt::never) return false;
  if (!chosen_for_) return steps_ >= kFirstSteps;
  if (adapt_ == Adapt::once || steps_ < kPause) return false;
  return std::abs(step_of(*schedule_, now) - chosen_step_) > kDrift * chosen_step_;
}

void Adaptation::add(const Times& times, std::int64_t duration) {
  recent_.add(times);
  ++steps_;
  durations_.push_back(duration);
  if (durations_.size() > kPause) durations_.erase(durations_.begin());
}

std::optional<Agreed> Adaptation::choose() {
  const Times now = recent_.median();
  auto agreed = taken_back(now);
  if (!agreed && due(now)) agreed = chosen_for(now);
  if (!agreed) return std::nullopt;
  schedule_ = agreed->schedule;
  chosen_for_ = now;
  chosen_step_ = step_of(*schedule_, now);
  steps_ = 0;
  durations_.clear();
  return agreed;
}

Agreed Adaptation::chosen_for(const Times& now) {
  Agreed agreed{.schedule = schedule_, .times = now, .step_before = step_of(*schedule_, now)};
  agreed.reason = chosen_for_ ? reason_of(*schedule_, *chosen_for_, now)
                              : std::string("the first steps are measured");
  auto made = lean_order(now);
  agreed.step = step_of(made, now);
  agreed.same_order = agreed.step >= agreed.step_before;
  before_.reset();
  if (agreed.same_order) {
    agreed.step = agreed.step_before;
  } else {
    before_ = {schedule_, lesser_median(durations_)};
    agreed.schedule = std::make_shared<const Schedule>(std::move(made));
  }
  return agreed;
}

// The search looks for the shortest step whatever it holds, and for exactly these times, with
// nothing to spare where an op takes longer now and then. So it is made for a latency that is a
// little longer, which keeps a microbatch more under way, and under the lowest cap that costs next
// to nothing.
Schedule Adaptation::lean_order(const Times& now) const {
  GenerateOptions options = options_;
  const auto made_for = [&](const Times& times) {
    options.times = times;
    auto made = generate(schedule_->kind, options);
    HAIRPIN_CHECK(made.has_value(), "{}", made.error().message);
    return std::move(*made);
  };
  const Schedule tight = made_for(now);
  Times later = now;
  later.latency = std::min(now.latency + period_of(*schedule_, now) / kCrossings, kMaxMicroseconds);
  Schedule lean = made_for(later);
  const double longest = kNextToNothing * step_of(lean, later);
  const auto peaks = peak_in_flight(lean).stage;
  const int most = *std::max_element(peaks.begin(), peaks.end());
  for (int cap = kLeastCap; cap < most; cap += (cap + 1) / 2) {
    options.in_flight_cap = {cap};
    Schedule capped = made_for(later);
    if (step_of(capped, later) > longest) continue;
    lean = std::move(capped);
    break;
  }
  return step_of(lean, now) <= kNextToNothing * step_of(tight, now) ? lean : tight;
}

// The simulator may not know everything, a link's bandwidth for one that no frame was large enough
// to show. So what was chosen is held against what it replaced, once, by the clock.
std::optional<Agreed> Adaptation::taken_back(const Times& now) {
  if (adapt_ != Adapt::always || !before_ || steps_ < kPause) return std::nullopt;
  const auto before = *std::exchange(before_, std::nullopt);
  const auto took = lesser_median(durations_);
  if (before.duration == 0 || took == 0 || due(now)) return std::nullopt;
  const auto then = static_cast<double>(before.duration), is = static_cast<double>(took);
  if (is <= then + kDrift * then) return std::nullopt;
  return Agreed{.schedule = before.schedule,
                .times = now,
                .reason = "steps by the last choice took longer than those before it",
                .step_before = is,
                .step = then,
                .taken_back = true};
}

}  // namespace hairpin::schedule
