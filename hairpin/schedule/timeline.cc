#include "hairpin/schedule/timeline.h"

#include <utility>

#include "hairpin/schedule/critical_path.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/slack.h"

namespace hairpin::schedule {
namespace {

Bar::What what_of(const Op& op) {
  if (op.kind == OpKind::forward) return Bar::What::forward;
  return op.kind == OpKind::backward_weight ? Bar::What::weights : Bar::What::backward;
}

void mark_critical(const Schedule& schedule, const Replay& timed, std::vector<Lane>& ranks) {
  for (const Leg& leg : critical_path(schedule, timed))
    if (leg.what == Leg::What::op) ranks[leg.place.rank].bars[leg.place.position].critical = true;
}

}  // namespace

Timeline timeline_of(const Schedule& schedule, const Costs& costs, const Replay& timed) {
  const Notation notation(schedule);
  const auto slack = slack_of(schedule, costs, timed);
  Timeline made{.title = schedule.kind, .lanes = {}, .end = timed.makespan};
  for (const auto& label : rank_labels(schedule)) made.lanes.push_back({label, {}});
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Op& op = schedule.ranks[rank][i];
      const Span& span = timed.spans[rank][i];
      made.lanes[rank].bars.push_back(
          {what_of(op), notation.text(op), span.start, span.end, slack[rank][i]});
    }
  mark_critical(schedule, timed, made.lanes);
  Lane up{"link up", {}}, down{"link down", {}};
  for (const Crossing& c : timed.crossings)
    if (c.end > c.start)
      (c.up ? up : down).bars.push_back({Bar::What::transfer, notation.text(c.op), c.start, c.end});
  for (Lane* lane : {&up, &down})
    if (!lane->bars.empty()) made.lanes.push_back(std::move(*lane));
  return made;
}

}  // namespace hairpin::schedule
