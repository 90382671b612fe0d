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

// A lane a rank, a bar an op.
std::vector<Lane> rank_lanes(const Schedule& schedule,
                             const std::vector<std::vector<Span>>& spans) {
  const Notation notation(schedule);
  std::vector<Lane> lanes;
  for (const auto& label : rank_labels(schedule)) lanes.push_back({label, {}});
  for (std::size_t rank = 0; rank < spans.size(); ++rank)
    for (std::size_t i = 0; i < spans[rank].size(); ++i) {
      const Op& op = schedule.ranks[rank][i];
      lanes[rank].bars.push_back(
          {what_of(op), notation.text(op), spans[rank][i].start, spans[rank][i].end});
    }
  return lanes;
}

// Adds the directions of the link that have bars.
class LinkLanes {
 public:
  void add(bool up, std::string name, double start, double end) {
    if (end > start)
      (up ? up_ : down_).bars.push_back({Bar::What::transfer, std::move(name), start, end});
  }
  void move_to(std::vector<Lane>& lanes) {
    for (Lane* lane : {&up_, &down_})
      if (!lane->bars.empty()) lanes.push_back(std::move(*lane));
  }

 private:
  Lane up_{"link up", {}}, down_{"link down", {}};
};

}  // namespace

Timeline timeline_of(const Schedule& schedule, const Costs& costs, const Replay& timed) {
  const Notation notation(schedule);
  const auto slack = slack_of(schedule, costs, timed);
  Timeline made{
      .title = schedule.kind, .lanes = rank_lanes(schedule, timed.spans), .end = timed.makespan};
  for (std::size_t rank = 0; rank < slack.size(); ++rank)
    for (std::size_t i = 0; i < slack[rank].size(); ++i)
      made.lanes[rank].bars[i].slack = slack[rank][i];
  mark_critical(schedule, timed, made.lanes);
  LinkLanes link;
  for (const Crossing& c : timed.crossings) link.add(c.up, notation.text(c.op), c.start, c.end);
  link.move_to(made.lanes);
  return made;
}

Timeline timeline_of(const Schedule& schedule, const MeasuredStep& step) {
  Timeline made{.title = schedule.kind,
                .lanes = rank_lanes(schedule, step.spans),
                .end = step.makespan,
                .unit = "us",
                .measured = true};
  LinkLanes link;
  for (const MeasuredFrame& frame : step.frames)
    link.add(frame.up, frame.name, frame.start, frame.end);
  link.move_to(made.lanes);
  return made;
}

}  // namespace hairpin::schedule
