#include "hairpin/train/stage_times.h"

#include <algorithm>
#include <map>

#include "hairpin/base/lesser_median.h"
#include "hairpin/schedule/times.h"

namespace hairpin::train {
namespace {

using schedule::OpKind;
using std::chrono::microseconds;

std::uint32_t median(const std::vector<std::chrono::nanoseconds>& durations) {
  if (durations.empty()) return 0;
  const auto time = std::chrono::duration_cast<microseconds>(lesser_median(durations)).count();
  // A backward is a sum of two.
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(time, 1, schedule::kMaxMicroseconds / 2));
}

}  // namespace

std::vector<wire::StageTime> stage_times(const std::vector<pipeline::OpTime>& ops) {
  std::map<int, std::map<OpKind, std::vector<std::chrono::nanoseconds>>> durations;
  for (const auto& op : ops) durations[op.op.stage][op.op.kind].push_back(op.duration());
  std::vector<wire::StageTime> times;
  for (auto& [stage, of] : durations) {
    const auto weights = median(of[OpKind::backward_weight]);
    times.push_back(
        {.stage = static_cast<std::uint16_t>(stage),
         .forward = median(of[OpKind::forward]),
         .backward = median(of[OpKind::backward]) + median(of[OpKind::backward_input]) + weights,
         .backward_weight = weights});
  }
  return times;
}

void join_slowest(std::vector<wire::StageTime>& joined, const std::vector<wire::StageTime>& other) {
  std::map<std::uint16_t, wire::StageTime> all;
  for (const auto* times : {&std::as_const(joined), &other})
    for (const auto& time : *times) {
      auto& slowest = all[time.stage];
      slowest.stage = time.stage;
      slowest.forward = std::max(slowest.forward, time.forward);
      slowest.backward = std::max(slowest.backward, time.backward);
      slowest.backward_weight = std::max(slowest.backward_weight, time.backward_weight);
    }
  joined.clear();
  for (const auto& [stage, time] : all) joined.push_back(time);
}

}  // namespace hairpin::train
