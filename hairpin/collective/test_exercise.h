// One operation with made-up data, what it must bring by an oracle that shares no code with the
// backends, and what it must move.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "hairpin/collective/group.h"
#include "hairpin/collective/operation.h"

namespace hairpin::collective {

// A call that all ranks of a group make. `send` stands for a round: each rank sends to the one
// `root` after it, then receives.
struct Call {
  Kind kind = Kind::barrier;
  Element element = Element::f32;  // f64 for all_reduce and all_gather only
  Reduction reduction = Reduction::sum;
  int root = 0;
  bool in_place = false;             // reduce_scatter, all_gather, scatter
  std::vector<std::int64_t> counts;  // one a rank; where there are no pieces, their sum is meant
  std::uint64_t seed = 0;
};
std::ostream& operator<<(std::ostream& out, const Call& call);

// A rank's side of a call: its buffers, with marked ends.
class Exercise {
 public:
  static std::unique_ptr<Exercise> make(const Call& call, int rank);
  virtual ~Exercise() = default;
  virtual void run(Group& group) = 0;
  virtual Work start(Group& group) = 0;  // where there is no asynchronous form: `run`
  // After it has ended: what is not as it must be, or empty.
  virtual std::string wrong() const = 0;
  virtual std::uint64_t bytes() const = 0;  // that this rank reads from others
  virtual std::uint64_t operations() const = 0;
};

// Calls of all kinds on a group of that size.
std::vector<Call> sample_calls(int size);

// Elements that rank `from` gives rank `to` in an all_to_all of `call`.
std::int64_t given(const Call& call, int from, int to);

}  // namespace hairpin::collective
