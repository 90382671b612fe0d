// A pipeline schedule as data: for each rank an ordered list of ops. It is generated, checked,
// simulated and drawn without tensors, then executed as is (pipeline/executor.h).
//
// A model cut for P ranks has logical stages 0..S-1 in model order. In the hairpin shape there are
// PP + 1 of them: the edge (rank 0) holds the first (head) and the last (tail), cloud rank r holds
// stage r. In the line shape rank r holds stage r.
//
// With D domains every rank that is not shared exists D times: rank 0..shared_ranks-1 serve all
// domains, then come domain 0's other ranks, then domain 1's, and so on.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace hairpin::schedule {

// A schedule has at most this many ops, over all ranks.
inline constexpr std::int64_t kMaxOps = std::int64_t{1} << 22;

enum class OpKind { forward, backward };

struct Op {
  OpKind kind = OpKind::forward;
  int stage = 0;       // logical stage
  int microbatch = 0;  // within its domain, from 0 (the notation counts from 1)
  int domain = 0;
  auto operator<=>(const Op&) const = default;
};

struct Schedule {
  std::string kind;      // "gpipe", "1f1b", "hairpin-1f1b", ...
  int microbatches = 0;  // per domain
  int domains = 1;
  std::vector<int> rank_of_stage;  // logical stage -> its rank in domain 0
  std::vector<std::vector<Op>> ranks;
  int shared_ranks = 0;  // how many first ranks serve all domains: 1 (the edge) or 0

  bool operator==(const Schedule&) const = default;

  int num_stages() const { return static_cast<int>(rank_of_stage.size()); }
  int num_ranks() const { return static_cast<int>(ranks.size()); }

  // Whether the first and the last stage lie on one rank: head and tail on the edge.
  bool is_hairpin() const {
    return num_stages() > 2 && rank_of_stage.front() == rank_of_stage.back();
  }
  int ranks_of_one_domain() const;  // PP: the shared ranks and one domain's own
  int rank_of(int stage, int domain) const;
  // The stages RANK holds, ascending. RANK must be one of 0..num_ranks()-1.
  std::vector<int> stages_of(int rank) const;
};

}  // namespace hairpin::schedule
