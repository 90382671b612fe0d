#include "hairpin/parallel/shares.h"

#include "hairpin/mesh/share.h"

namespace hairpin::parallel {

std::vector<std::int64_t> shares(std::int64_t total, int ranks) {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(mesh::share(total, ranks, rank).count);
  return counts;
}

std::vector<std::int64_t> elements(std::span<const std::int64_t> rows, std::int64_t n) {
  std::vector<std::int64_t> counts;
  for (const auto count : rows) counts.push_back(count * n);
  return counts;
}

}  // namespace hairpin::parallel
