// Whether a model can be divided over the ranks of a tensor-parallel group.
#pragma once

#include <string_view>

#include "hairpin/arch/architecture.h"

namespace hairpin::arch {

// Whole query heads and an equal share of the inner size go to each rank; K/V heads either divide
// alike or are fewer and divide the ranks, which then hold copies; each rank gets a row of the
// vocabulary at least. Else one error that names `key` (as "edge.tensor_parallel"), every size that
// doesn't fit, and the nearest numbers of ranks that do.
Result<void> check_tensor_parallel(const Architecture& architecture, std::int64_t ranks,
                                   std::string_view key);

// K/V heads that each of `ranks` (a number that fits) holds: its share, or one where there are
// fewer than ranks.
std::int64_t key_value_heads_of_rank(const Architecture& architecture, std::int64_t ranks);
// Neighbouring ranks that hold the same ones.
std::int64_t key_value_copies(const Architecture& architecture, std::int64_t ranks);

}  // namespace hairpin::arch
