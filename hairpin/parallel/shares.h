// Every rank's share of something, as the collectives' counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hairpin::parallel {

// mesh::share(total, ranks, r).count of every rank r.
std::vector<std::int64_t> shares(std::int64_t total, int ranks);

// Elements in `rows` rows of n each.
std::vector<std::int64_t> elements(std::span<const std::int64_t> rows, std::int64_t n);

}  // namespace hairpin::parallel
