#include "hairpin/schedule/schedule.h"

#include <algorithm>

namespace hairpin::schedule {

int Schedule::ranks_of_one_domain() const {
  return rank_of_stage.empty() ? 0
                               : *std::max_element(rank_of_stage.begin(), rank_of_stage.end()) + 1;
}

int Schedule::rank_of(int stage, int domain) const {
  const int rank = rank_of_stage[static_cast<std::size_t>(stage)];
  if (rank < shared_ranks) return rank;
  return rank + domain * (ranks_of_one_domain() - shared_ranks);
}

std::vector<int> Schedule::stages_of(int rank) const {
  const int own = ranks_of_one_domain() - shared_ranks;
  const int in_first_domain =
      rank < shared_ranks ? rank : shared_ranks + (rank - shared_ranks) % own;
  std::vector<int> stages;
  for (int stage = 0; stage < num_stages(); ++stage)
    if (rank_of_stage[static_cast<std::size_t>(stage)] == in_first_domain) stages.push_back(stage);
  return stages;
}

}  // namespace hairpin::schedule
