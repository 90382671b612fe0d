// When a run's order of ops is chosen anew, and which it is: from the times that its steps
// measured. Two sites that are told the same whole numbers come to the same orders at the same
// steps, on any machines (docs/adr/0008).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/recent_times.h"
#include "hairpin/schedule/schedule.h"
#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

struct Agreed {
  std::shared_ptr<const Schedule> schedule;
  Times times;         // that it was chosen for
  std::string reason;  // "cloud 1's time for a microbatch went from 30.1 to 61.2 ms"
  // Microseconds by simulation at these times, of the order so far and of this one: never longer.
  double step_before = 0, step = 0;
  bool same_order = false;  // none was found that is shorter
  // The order before was taken up again, as steps by the last choice took longer: then `step` and
  // `step_before` are measured.
  bool taken_back = false;
};

// When an order is chosen: not at all (a kind that doesn't follow times), after the first steps, or
// then and whenever times change.
enum class Adapt { never, once, always };

// Not thread-safe.
class Adaptation {
 public:
  // A change of the step's simulated time by so much is a reason to choose anew.
  static constexpr double kDrift = 0.10;
  // Steps that are measured before the first choice: a run's first one is slow by itself.
  static constexpr std::size_t kFirstSteps = 2;
  // Steps from one choice to the next, at least: then none of those that count is from before it.
  static constexpr std::size_t kPause = RecentTimes::kSteps;

  // FIRST is what runs until something is measured; OPTIONS are those it was generated with, whose
  // times aren't read.
  Adaptation(std::shared_ptr<const Schedule> first, GenerateOptions options, Adapt adapt);

  // A step measured TIMES, which `to_costs` has taken, and took DURATION microseconds as a whole;
  // 0: not known.
  void add(const Times& times, std::int64_t duration = 0);
  // What to run from the next step on, where it is time to choose. At most once after an `add`.
  std::optional<Agreed> choose();

  const std::shared_ptr<const Schedule>& schedule() const { return schedule_; }
  const RecentTimes& recent() const { return recent_; }

 private:
  // The order before the last choice.
  struct Before {
    std::shared_ptr<const Schedule> schedule;
    std::int64_t duration = 0;  // of a step by it
  };
  bool due(const Times& now) const;
  Agreed chosen_for(const Times& now);
  Schedule lean_order(const Times& now) const;
  std::optional<Agreed> taken_back(const Times& now);

  std::shared_ptr<const Schedule> schedule_;
  GenerateOptions options_;
  const Adapt adapt_;
  RecentTimes recent_;
  std::optional<Times> chosen_for_;
  double chosen_step_ = 0;               // of the order in use, by simulation at those times
  std::size_t steps_ = 0;                // since the last choice, or the beginning
  std::vector<std::int64_t> durations_;  // of the last of these steps
  std::optional<Before> before_;
};

}  // namespace hairpin::schedule
