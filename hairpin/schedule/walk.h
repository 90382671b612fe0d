// Running a schedule's lists against each other: what each op waits for, and in which order all
// ranks can get through.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// The one op whose result OP reads: F(s) reads F(s-1), the last stage's B its own F, and B(s)
// reads B(s+1). Nothing for the first stage's forward.
std::optional<Op> data_dependency(const Op& op, int num_stages);

// Numbers the ops of a schedule 0..size()-1, whatever lists they stand in.
class OpIndex {
 public:
  explicit OpIndex(const Schedule& schedule)
      : stages_(schedule.num_stages()), m_(schedule.microbatches), domains_(schedule.domains) {}
  std::size_t size() const;
  std::size_t of(const Op& op) const;  // OP's fields must be in range
  Op op(std::size_t index) const;      // the inverse

 private:
  int stages_, m_, domains_;
};

// Calls `visit(rank, position, op)` for every op, each after the ops before it on its rank and
// after its data dependency. The order between ranks is otherwise unspecified. Sends never block.
// Precondition: every op stands exactly once, on its rank (the checker proves it first).
// Error (bad_input): a deadlock, naming the ops that wait for each other.
Result<void> walk(const Schedule& schedule,
                  const std::function<void(int rank, std::size_t position, const Op& op)>& visit);

}  // namespace hairpin::schedule
