#include "hairpin/schedule/adaptation.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "hairpin/base/check.h"
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
  const double then = step_of(*schedule_, *chosen_for_);
  return std::abs(step_of(*schedule_, now) - then) > kDrift * then;
}

void Adaptation::add(const Times& times) {
  recent_.add(times);
  ++steps_;
}

std::optional<Agreed> Adaptation::choose() {
  const Times now = recent_.median();
  if (!due(now)) return std::nullopt;
  Agreed agreed{.schedule = schedule_, .times = now, .step_before = step_of(*schedule_, now)};
  agreed.reason = chosen_for_ ? reason_of(*schedule_, *chosen_for_, now)
                              : std::string("the first steps are measured");
  options_.times = now;
  auto made = generate(schedule_->kind, options_);
  HAIRPIN_CHECK(made.has_value(), "{}", made.error().message);
  agreed.step = step_of(*made, now);
  agreed.same_order = agreed.step >= agreed.step_before;
  if (agreed.same_order) {
    agreed.step = agreed.step_before;
  } else {
    agreed.schedule = schedule_ = std::make_shared<const Schedule>(std::move(*made));
  }
  chosen_for_ = now;
  steps_ = 0;
  return agreed;
}

}  // namespace hairpin::schedule
