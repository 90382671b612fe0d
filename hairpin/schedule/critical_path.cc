#include "hairpin/schedule/critical_path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hairpin/schedule/op_places.h"

namespace hairpin::schedule {
namespace {

class Path {
 public:
  Path(const Schedule& schedule, const Replay& timed)
      : schedule_(schedule), timed_(timed), places_(schedule, timed.crossings) {}

  std::vector<Leg> run() {
    std::optional<Place> place = last();
    while (place) {
      const Span& span = span_of(*place);
      add({Leg::What::op, *place, span.start, span.end});
      place = before(*place);
    }
    std::reverse(legs_.begin(), legs_.end());
    return std::move(legs_);
  }

 private:
  const Span& span_of(const Place& place) const { return timed_.spans[place.rank][place.position]; }

  void add(const Leg& leg) {
    if (leg.end > leg.start) legs_.push_back(leg);
  }

  std::optional<Place> last() const {
    std::optional<Place> found;
    for (const Place& place : timed_.order)
      if (!found || span_of(place).end >= span_of(*found).end) found = place;
    return found;
  }

  // What the op at PLACE waited for: nothing, its rank's last op, or its input.
  std::optional<Place> before(const Place& place) {
    const double start = span_of(place).start;
    if (place.position > 0)
      if (const Place on_rank{place.rank, place.position - 1}; span_of(on_rank).end == start)
        return on_rank;
    const Op& op = schedule_.ranks[place.rank][place.position];
    const auto source = data_dependency(op, schedule_);
    if (!source) return std::nullopt;
    std::size_t c = places_.crossing_between(*source, op);
    if (c == OpPlaces::kNone) return places_.of(*source);
    const Crossing* crossing = &timed_.crossings[c];
    add({Leg::What::latency, places_.of(crossing->op), crossing->end, crossing->arrival});
    add_transfer(*crossing);
    while (crossing->start > crossing->queued) {  // behind the one before it
      c = places_.before(c);
      crossing = &timed_.crossings[c];
      add_transfer(*crossing);
    }
    return places_.of(crossing->op);
  }

  void add_transfer(const Crossing& crossing) {
    add({crossing.up ? Leg::What::up : Leg::What::down, places_.of(crossing.op), crossing.start,
         crossing.end});
  }

  const Schedule& schedule_;
  const Replay& timed_;
  OpPlaces places_;
  std::vector<Leg> legs_;
};

}  // namespace

std::vector<Leg> critical_path(const Schedule& schedule, const Replay& timed) {
  return Path(schedule, timed).run();
}

}  // namespace hairpin::schedule
