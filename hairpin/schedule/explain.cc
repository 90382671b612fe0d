#include "hairpin/schedule/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "hairpin/schedule/critical_path.h"
#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {

std::string busy_line(const Schedule& schedule, const Simulation& s) {
  const auto labels = rank_labels(schedule);
  const auto percent = [&s](double time) { return s.makespan > 0 ? 100 * time / s.makespan : 0; };
  const auto busiest = [&s](std::ptrdiff_t end) {
    return static_cast<std::size_t>(std::max_element(s.busy.begin(), s.busy.begin() + end) -
                                    s.busy.begin());
  };
  const std::size_t most = busiest(std::ssize(s.busy));
  std::string line = fmt::format("{} busy {:.0f} %", labels[most], percent(s.busy[most]));
  for (const auto& [name, busy] :
       {std::pair("up", s.link_busy_up), std::pair("down", s.link_busy_down)})
    if (busy > 0) line += fmt::format(", the link {} {:.0f} %", name, percent(busy));
  const bool edge = schedule.edge_ranks > 0;
  const std::size_t waits =
      edge ? busiest(schedule.edge_ranks)
           : static_cast<std::size_t>(std::min_element(s.busy.begin(), s.busy.end()) -
                                      s.busy.begin());
  return line + fmt::format(", {}{} waits {:.0f} %", edge ? "the " : "", labels[waits],
                            100 * s.bubble[waits]);
}

std::vector<std::pair<std::string, double>> path_shares(const Schedule& schedule,
                                                        const Simulation& s) {
  const auto labels = rank_labels(schedule);
  std::map<std::string, double> spent;
  for (const Leg& leg : critical_path(schedule, s)) {
    const std::string name = leg.what == Leg::What::op     ? labels[leg.place.rank]
                             : leg.what == Leg::What::up   ? "link up"
                             : leg.what == Leg::What::down ? "link down"
                                                           : "latency";
    spent[name] += (leg.end - leg.start) / s.makespan;
  }
  std::vector<std::pair<std::string, double>> shares(spent.begin(), spent.end());
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

}  // namespace hairpin::schedule
