// What the ranks of a run needed, for people.
//
//   tensor memory at peak            total   weights  gradients  optimizer  activations     link
//   cloud rank pp 1, dp 0, tp 0   39.1 MiB  12.0 MiB   12.0 MiB   13.5 MiB      1.5 MiB  100 KiB
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hairpin/metrics/rank_memory.h"
#include "hairpin/metrics/sink.h"

namespace hairpin::metrics {

// A line of headings and one a rank, in the order given, each ended; "" when there is no rank.
std::string memory_table(std::span<const RankMemory> ranks);

// Shows the table of the last record at the end, if there was one.
class MemorySummary : public Sink {
 public:
  explicit MemorySummary(std::function<void(const std::string&)> show) : show_(std::move(show)) {}
  Result<void> write(const StepRecord& record) override;
  Result<void> finish() override;

 private:
  std::function<void(const std::string&)> show_;
  std::vector<RankMemory> last_;
};

// "0 B", "1023 B", "1.0 KiB", "39.1 MiB": powers of 1024, one digit after the point.
std::string bytes_text(std::int64_t bytes);

}  // namespace hairpin::metrics
