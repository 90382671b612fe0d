#include "hairpin/schedule/schedule.h"

#include <algorithm>

namespace hairpin::schedule {
namespace {

// Ranks that each domain has of its own: all positions but the edge's.
int ranks_of_a_domain(const Schedule& s) { return s.pp() - (s.edge_ranks > 0 ? 1 : 0); }

}  // namespace

int Schedule::pp() const {
  const auto last = std::max_element(position_of_stage.begin(), position_of_stage.end());
  return last == position_of_stage.end() ? 0 : *last + 1;
}

int Schedule::rank_of(int stage, int domain, int microbatch) const {
  const int position = position_of_stage[static_cast<std::size_t>(stage)];
  if (edge_ranks == 0) return domain * ranks_of_a_domain(*this) + position;
  if (position == 0) return number_of(microbatch, domain) % edge_ranks;
  return edge_ranks + domain * ranks_of_a_domain(*this) + position - 1;
}

int Schedule::position_of(int rank) const {
  if (is_edge(rank)) return 0;
  return (rank - edge_ranks) % ranks_of_a_domain(*this) + (edge_ranks > 0 ? 1 : 0);
}

int Schedule::replica_of(int rank) const {
  return is_edge(rank) ? rank : (rank - edge_ranks) / ranks_of_a_domain(*this);
}

std::vector<int> Schedule::stages_of(int rank) const {
  const int position = position_of(rank);
  std::vector<int> stages;
  for (int stage = 0; stage < num_stages(); ++stage)
    if (position_of_stage[static_cast<std::size_t>(stage)] == position) stages.push_back(stage);
  return stages;
}

}  // namespace hairpin::schedule
