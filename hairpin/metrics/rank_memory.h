// One rank's tensor memory at the moment when it had most, in bytes; and its largest tensor.
#pragma once

#include <cstdint>
#include <string>

namespace hairpin::metrics {

struct RankMemory {
  std::string rank;       // "cloud rank pp 1, dp 0, tp 2"
  std::int64_t peak = 0;  // the sum of the next five
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t link = 0;     // tensors on their way to or from the other site
  std::int64_t largest = 0;  // the largest single tensor made since the weights were loaded
};

}  // namespace hairpin::metrics
