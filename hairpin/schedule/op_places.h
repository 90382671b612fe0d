// Where each op stands, and which crossing carries its result. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "hairpin/schedule/event_loop.h"
#include "hairpin/schedule/op_index.h"
#include "hairpin/schedule/replay.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

class OpPlaces {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  OpPlaces(const Schedule& schedule, const std::vector<Crossing>& crossings);

  Place of(const Op& op) const { return places_[index_.of(op)]; }
  // The number of the crossing that carries OP's result; kNone: it stays inside its site.
  std::size_t crossing_of(const Op& op) const { return crossing_[index_.of(op)]; }
  // The crossing that carries READER its input, SOURCE's result. A weights' op reads what its own
  // rank has, also where the input gradient beside it is sent on.
  std::size_t crossing_between(const Op& source, const Op& reader) const {
    return reader.kind == OpKind::backward_weight ? kNone : crossing_of(source);
  }
  // The crossing before crossing C in its direction; kNone: C is the first.
  std::size_t before(std::size_t c) const { return before_[c]; }

 private:
  OpIndex index_;
  std::vector<Place> places_;          // by op
  std::vector<std::size_t> crossing_;  // by op
  std::vector<std::size_t> before_;    // by crossing
};

}  // namespace hairpin::schedule
