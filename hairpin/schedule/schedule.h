// A pipeline schedule as data: for each rank an ordered list of ops. It is generated, checked,
// simulated and drawn without tensors, then executed as is (pipeline/executor.h).
//
// A model cut for P ranks has logical stages 0..S-1 in model order. For `hairpin-*` there are
// PP + 1 of them: the edge (rank 0) holds the first (head) and the last (tail), cloud rank r holds
// stage r. For the others rank r holds stage r.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace hairpin::schedule {

enum class OpKind { forward, backward };

struct Op {
  OpKind kind = OpKind::forward;
  int stage = 0;       // logical stage
  int microbatch = 0;  // within its domain, from 0 (the notation counts from 1)
  int domain = 0;
  auto operator<=>(const Op&) const = default;
};

struct Schedule {
  std::string kind;                 // "gpipe", "1f1b", "hairpin-1f1b", ...
  int microbatches = 0;             // per domain
  int domains = 1;
  std::vector<int> rank_of_stage;   // logical stage -> rank
  std::vector<std::vector<Op>> ranks;

  int num_stages() const { return static_cast<int>(rank_of_stage.size()); }
  int num_ranks() const { return static_cast<int>(ranks.size()); }
};

}  // namespace hairpin::schedule
