// What is known about one training step. The names are metrics.jsonl's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hairpin/metrics/rank_memory.h"

namespace hairpin::metrics {

// Why a step left the weights as they were.
enum class Skipped { no_trained_tokens, not_finite };
constexpr std::string_view reason_of(Skipped skipped) {
  return skipped == Skipped::no_trained_tokens ? "no trained tokens" : "gradient not finite";
}

// One direction of the link in the step, as this site's end of it saw it.
struct LinkUse {
  // Summed over frames, which may overlap. Going out: from their sending to their first byte's
  // leaving; coming in: from their last byte's arrival to their being taken.
  double queueing_seconds = 0.0;
  double transfer_seconds = 0.0;  // summed over frames: from the first byte to the last
  double idle_seconds = 0.0;      // no frame at all
};

struct StepRecord {
  std::int64_t step = 0;  // from 1
  // Edge and one-site runs only: the cloud never knows it. Unset where no token is trained on.
  std::optional<double> loss;
  double grad_norm = 0.0;  // global, over both sites, before clipping
  double learning_rate = 0.0;
  std::int64_t tokens = 0;          // of the step's microbatches
  std::int64_t trained_tokens = 0;  // of those, predicted and in the loss
  std::optional<Skipped> skipped;   // unset: the weights were updated
  double step_seconds = 0.0;
  double tokens_per_second = 0.0;
  std::uint64_t link_bytes_up = 0;            // edge to cloud, this step, framed bytes
  std::uint64_t link_bytes_down = 0;          // cloud to edge
  std::optional<LinkUse> link_up, link_down;  // unset on one site
  // What the link has measured about itself so far; unset: not yet.
  std::optional<double> rtt_seconds, link_up_bytes_per_second, link_down_bytes_per_second;
  // Moved between this site's ranks in the step, by all of them together; unset where an axis has
  // one rank.
  std::optional<std::uint64_t> tp_bytes, dp_bytes, pp_bytes;
  std::uint64_t peak_memory_bytes = 0;
  double bubble = 0.0;  // fraction of the step in which this site's ranks had no work, 0 to 1
  std::vector<RankMemory> tensor_memory;  // of this site's ranks, so far
};

}  // namespace hairpin::metrics
