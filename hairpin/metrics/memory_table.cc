#include "hairpin/metrics/memory_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hairpin::metrics {
namespace {

constexpr std::size_t kColumns = 7;
using Row = std::array<std::string, kColumns>;

Row row_of(const RankMemory& rank) {
  return {rank.rank,
          bytes_text(rank.peak),
          bytes_text(rank.weights),
          bytes_text(rank.gradients),
          bytes_text(rank.optimizer),
          bytes_text(rank.activations),
          bytes_text(rank.link)};
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;  // "1024.0" never
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string memory_table(std::span<const RankMemory> ranks) {
  if (ranks.empty()) return "";
  std::vector<Row> rows{{"tensor memory at peak", "total", "weights", "gradients", "optimizer",
                         "activations", "link"}};
  for (const auto& rank : ranks) rows.push_back(row_of(rank));
  std::array<std::size_t, kColumns> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : rows) {
    out += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < kColumns; ++i) out += fmt::format("  {:>{}}", row[i], widths[i]);
    out += '\n';
  }
  return out;
}

Result<void> MemorySummary::write(const StepRecord& record) {
  last_ = record.tensor_memory;
  return {};
}

Result<void> MemorySummary::finish() {
  if (!last_.empty()) show_(memory_table(last_));
  return {};
}

}  // namespace hairpin::metrics
