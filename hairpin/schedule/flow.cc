#include "hairpin/schedule/flow.h"

#include <algorithm>

namespace hairpin::schedule {

Flow flow_of(const Schedule& layout, const Times& times) {
  const std::int64_t domains = layout.domains, edges = layout.edge_ranks;
  const auto work = [&times](std::size_t stage) {
    return times.forward[stage] + times.backward[stage];
  };
  const std::size_t last = layout.position_of_stage.size() - 1;
  Flow flow;
  flow.scaled_period = domains * (work(0) + work(last));
  for (std::size_t stage = 1; stage < last; ++stage)
    flow.scaled_period = std::max(flow.scaled_period, edges * work(stage));
  for (const TransferTimes& direction : {times.up, times.down})
    flow.scaled_period =
        std::max(flow.scaled_period, domains * edges * (direction.activation + direction.gradient));
  flow.round_trip.resize(last + 1);
  std::int64_t way = 0;
  for (std::size_t stage = last + 1; stage-- > 0;) {
    if (stage + 1 == last) way += times.down.activation + times.up.gradient + 2 * times.latency;
    if (stage == 0) way += times.up.activation + times.down.gradient + 2 * times.latency;
    flow.round_trip[stage] = way += work(stage);
  }
  return flow;
}

int depth_of(const Schedule& layout, const Flow& flow, int stage, int scale) {
  const bool edge = layout.position_of_stage[static_cast<std::size_t>(stage)] == 0;
  const std::int64_t all = std::int64_t{layout.microbatches} * layout.domains;
  const std::int64_t ranks = edge ? layout.edge_ranks : layout.domains;
  const std::int64_t most = (all + ranks - 1) / ranks;
  if (flow.scaled_period == 0) return static_cast<int>(most);
  // One rank's period is scaled_period / (domains * edges) * ranks.
  const std::int64_t others = edge ? layout.domains : layout.edge_ranks;
  const std::int64_t way = flow.round_trip[static_cast<std::size_t>(stage)] * scale * others;
  const std::int64_t depth = (way + flow.scaled_period - 1) / flow.scaled_period;
  return static_cast<int>(std::clamp<std::int64_t>(depth, 1, most));
}

}  // namespace hairpin::schedule
