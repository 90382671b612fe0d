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

}  // namespace hairpin::arch
