#include "hairpin/schedule/adaptive.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/flow.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/schedule/list_scheduler.h"
#include "hairpin/schedule/op_index.h"
#include "hairpin/schedule/replay.h"

namespace hairpin::schedule {
namespace {

using enum EdgeOp;

// Ops that all runs of a search may schedule together, about, and how many runs it makes at the
// least and at the most: they bound the search's time.
constexpr std::size_t kSearchOps = 300'000, kFewestRuns = 12, kMostRuns = 240;

// The preferences that between them were within 0.3 % of all 24, over seeded times, links and caps;
// the best single ones first.
constexpr std::array<EdgeOp, 4> kPreferences[] = {{fs, bs, be, fe}, {fe, bs, fs, be},
                                                  {fs, be, fe, bs}, {bs, fe, fs, be},
                                                  {be, bs, fs, fe}, {fs, fe, bs, be}};

// How a run waits: `patience`, and a latency of `thirds` of a period above the true one, so that an
// order has slack where the true latency leaves none. Its time is then found by replay.
struct Manner {
  int thirds;
  double patience;
};
constexpr Manner kManners[] = {{0, 1}, {1, 1}, {2, 1}, {0, 0.5}};

constexpr int kNoLimit = 0;
// How deep a run may go: round trips, and microbatches on top.
struct Depth {
  int scale, slack;
};
constexpr Depth kDepths[] = {{kNoLimit, 0}, {2, 0}, {1, 3}, {1, 0}};

struct Try {
  ListRules rules;
  int thirds = 0;
};

struct Found {
  std::vector<std::vector<Op>> ranks;
  double makespan = 0, step = 0;
  std::vector<int> peak;

  auto rank() const {
    return std::tuple(step, makespan, std::accumulate(peak.begin(), peak.end(), 0LL));
  }
};

class Search {
 public:
  Search(const Schedule& layout, const Times& times, const Caps& caps)
      : layout_(layout), caps_(caps), flow_(flow_of(layout, times)), candidate_(layout) {
    auto costs = to_costs(layout, times);
    HAIRPIN_CHECK(costs.has_value(), "{}", costs.error().message);
    costs_ = std::move(*costs);
    const std::int64_t ranks = std::int64_t{layout.domains} * layout.edge_ranks;
    for (std::size_t thirds = 0; thirds < later_.size(); ++thirds) {
      later_[thirds] = costs_;
      later_[thirds].link.latency += static_cast<double>(
          flow_.scaled_period * static_cast<std::int64_t>(thirds) / (3 * ranks));
    }
    const std::size_t ops = OpIndex(layout).size();
    runs_left_ = std::clamp(kSearchOps / ops, kFewestRuns, kMostRuns);
  }

  const Costs& costs() const { return costs_; }
  bool may_run() const { return runs_left_ > 0; }

  // One run, counted.
  Found run(const Try& attempt) {
    runs_left_ -= std::min<std::size_t>(runs_left_, attempt.thirds > 0 ? 2 : 1);
    ListRun made =
        list_schedule(layout_, later_[static_cast<std::size_t>(attempt.thirds)], attempt.rules);
    Found found{std::move(made.ranks), made.makespan, made.step, std::move(made.peak)};
    if (attempt.thirds == 0) return found;
    candidate_.ranks = std::move(found.ranks);
    const Replay timed = replay(candidate_, costs_);
    found = {std::move(candidate_.ranks), timed.makespan, timed.step, std::move(found.peak)};
    return found;
  }

  Try attempt(const std::array<EdgeOp, 4>& preference, const Manner& manner,
              const Depth& depth) const {
    Try made{.rules = {.preference = preference, .patience = manner.patience},
             .thirds = manner.thirds};
    for (int stage = 0; stage < layout_.num_stages(); ++stage)
      made.rules.depth.push_back(
          depth.scale == kNoLimit
              ? cap(stage)
              : std::min(cap(stage), depth_of(layout_, flow_, stage, depth.scale) + depth.slack));
    made.rules.pending = caps_.pending_weights;
    return made;
  }

  int cap(int stage) const {
    return caps_.in_flight.empty() ? std::numeric_limits<int>::max()
                                   : caps_.in_flight[static_cast<std::size_t>(stage)];
  }

 private:
  const Schedule& layout_;
  const Caps& caps_;
  Flow flow_;
  Schedule candidate_;  // its lists are those of the run being replayed
  Costs costs_;
  std::array<Costs, 3> later_;  // by thirds of a period
  std::size_t runs_left_;
};

// Keeps the best of what it is shown.
class Best {
 public:
  bool offer(Found found, const Try& attempt) {
    if (!found_.ranks.empty() && found.rank() >= found_.rank()) return false;
    found_ = std::move(found);
    attempt_ = attempt;
    return true;
  }
  Found& found() { return found_; }
  const Try& attempt() const { return attempt_; }

 private:
  Found found_;
  Try attempt_;
};

void try_rules(Search& search, Best& best) {
  for (const Depth& depth : kDepths)
    for (const Manner& manner : kManners)
      for (const auto& preference : kPreferences) {
        if (!search.may_run()) return;
        const Try attempt = search.attempt(preference, manner, depth);
        best.offer(search.run(attempt), attempt);
      }
}

// Moves one depth at a time, as long as that helps.
void descend(Search& search, Best& best) {
  for (bool better = true; better;) {
    better = false;
    for (std::size_t stage = 0; stage < best.found().peak.size(); ++stage)
      for (const int move : {-1, 1, -2, 2}) {
        if (!search.may_run()) return;
        Try attempt = best.attempt();
        int& depth = attempt.rules.depth[stage];
        depth = best.found().peak[stage] + move;
        if (depth < 1 || depth > search.cap(static_cast<int>(stage))) continue;
        better |= best.offer(search.run(attempt), attempt);
      }
  }
}

Best search_all(Search& search) {
  Best best;
  try_rules(search, best);
  descend(search, best);
  return best;
}

}  // namespace

Schedule hairpin_adaptive(const Schedule& layout, const Times& times, const Caps& caps,
                          const std::vector<Schedule>& others) {
  Search search(layout, times, caps);
  Best best = search_all(search);
  for (const Schedule& other : others) {
    const Replay timed = replay(other, search.costs());
    best.offer({other.ranks, timed.makespan, timed.step, peak_in_flight(other).stage}, {});
  }
  Schedule made = layout;
  made.ranks = std::move(best.found().ranks);
  return made;
}

std::optional<std::vector<int>> depth_needed(const Schedule& layout, const Times& times,
                                             const std::vector<int>& pending_weights,
                                             double factor) {
  // What the search finds when no stage may hold more than CAP microbatches.
  const auto found_within = [&](int cap) -> std::optional<std::vector<int>> {
    const Caps caps{std::vector<int>(layout.position_of_stage.size(), cap), pending_weights};
    Search search(layout, times, caps);
    const auto bound = lower_bound(layout, search.costs());
    HAIRPIN_CHECK(bound.has_value(), "{}", bound.error().message);
    const Found found = std::move(search_all(search).found());
    return found.makespan <= factor * *bound ? std::optional(found.peak) : std::nullopt;
  };
  int low = 1, high = layout.microbatches * layout.domains;
  auto needed = found_within(high);
  while (needed && low < high) {
    const int middle = low + (high - low) / 2;
    if (auto found = found_within(middle))
      needed = std::move(found), high = middle;
    else
      low = middle + 1;
  }
  return needed;
}

}  // namespace hairpin::schedule
