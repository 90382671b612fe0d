#include "hairpin/schedule/op_places.h"

namespace hairpin::schedule {

OpPlaces::OpPlaces(const Schedule& schedule, const std::vector<Crossing>& crossings)
    : index_(schedule), places_(index_.size()), crossing_(index_.size(), kNone) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i)
      places_[index_.of(schedule.ranks[rank][i])] = {rank, i};
  std::size_t last_up = kNone, last_down = kNone;
  for (std::size_t c = 0; c < crossings.size(); ++c) {
    crossing_[index_.of(crossings[c].op)] = c;
    std::size_t& last = crossings[c].up ? last_up : last_down;
    before_.push_back(last);
    last = c;
  }
}

}  // namespace hairpin::schedule
