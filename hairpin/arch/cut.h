// The cuts of a split: which placements may run across the link at all.
#pragma once

#include <cstdint>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::arch {

// `layers` as in `place`: edge head, one entry or more of the cloud, edge tail. Refused: fewer than
// three entries, and, unless the user accepts it by `allow_plaintext_cut`, no decoder layer at the
// head (the text crosses as rows of a public embedding table) or at the tail (the labels follow
// from the gradient that the edge returns). Sum and depth are `place`'s business.
Result<void> check_cuts(const std::vector<std::int64_t>& layers, bool allow_plaintext_cut);

}  // namespace hairpin::arch
