// What is known about one training step. The names are metrics.jsonl's.
#pragma once

#include <cstdint>
#include <optional>

namespace hairpin::metrics {

struct StepRecord {
  std::int64_t step = 0;       // from 1
  std::optional<double> loss;  // edge and one-site runs only: the cloud never knows it
  double grad_norm = 0.0;      // global, over both sites, before clipping
  double learning_rate = 0.0;
  std::int64_t tokens = 0;          // of the step's microbatches
  std::int64_t trained_tokens = 0;  // of those, predicted and in the loss
  double step_seconds = 0.0;
  double tokens_per_second = 0.0;
  std::uint64_t link_bytes_up = 0;    // edge to cloud, this step, framed bytes
  std::uint64_t link_bytes_down = 0;  // cloud to edge
  std::uint64_t peak_memory_bytes = 0;
  double bubble = 0.0;  // fraction of the step in which this site's ranks had no work, 0 to 1
};

}  // namespace hairpin::metrics
