#include "hairpin/schedule/replay.h"

#include <algorithm>
#include <optional>

#include "hairpin/schedule/boundary.h"

namespace hairpin::schedule {

Replay replay(const Schedule& schedule, const Costs& costs) {
  Replay result;
  for (const auto& ops : schedule.ranks) result.spans.emplace_back().reserve(ops.size());
  EventLoop loop(schedule, costs);
  loop.run(
      [&](int rank, double now) -> std::optional<Op> {
        const auto r = static_cast<std::size_t>(rank);
        const std::size_t next = result.spans[r].size();
        if (next == schedule.ranks[r].size()) return std::nullopt;
        const Op& op = schedule.ranks[r][next];
        return loop.arrival(op) <= now ? std::optional(op) : std::nullopt;
      },
      [&result](int rank, const Op&, double start, double end) {
        const auto r = static_cast<std::size_t>(rank);
        result.order.push_back({r, result.spans[r].size()});
        result.spans[r].push_back({start, end});
      });
  result.crossings = loop.crossings();
  std::vector<double> last_end;
  for (const auto& spans : result.spans) last_end.push_back(spans.empty() ? 0 : spans.back().end);
  result.makespan = *std::max_element(last_end.begin(), last_end.end());
  result.step = step_time(schedule, costs, last_end);
  return result;
}

}  // namespace hairpin::schedule
