// One rank's tensor memory at the moment when it had most, in bytes.
#pragma once

#include <cstdint>
#include <string>

namespace hairpin::metrics {

struct RankMemory {
  std::string rank;       // "cloud pp 1 dp 0 tp 2"
  std::int64_t peak = 0;  // the sum of what follows
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t link = 0;  // tensors on their way to or from the other site
};

}  // namespace hairpin::metrics
