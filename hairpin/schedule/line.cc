#include "hairpin/schedule/line.h"

#include <algorithm>
#include <numeric>

namespace hairpin::schedule {
Schedule empty_line(const char* kind, int pp, int m, int domains) {
  Schedule schedule{.kind = kind, .microbatches = m, .domains = domains};
  schedule.position_of_stage.resize(static_cast<std::size_t>(pp));
  std::iota(schedule.position_of_stage.begin(), schedule.position_of_stage.end(), 0);
  schedule.ranks.resize(static_cast<std::size_t>(pp) * static_cast<std::size_t>(domains));
  return schedule;
}

std::vector<Op> one_forward_one_backward(int stage, int domain, int warmup, int m) {
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<std::size_t>(m));
  int forward = 0, backward = 0;
  while (forward < std::min(warmup, m)) ops.push_back({OpKind::forward, stage, forward++, domain});
  while (forward < m) {
    ops.push_back({OpKind::forward, stage, forward++, domain});
    ops.push_back({OpKind::backward, stage, backward++, domain});
  }
  while (backward < m) ops.push_back({OpKind::backward, stage, backward++, domain});
  return ops;
}

std::vector<Op> forwards_then_backwards(int stage, int domain, int m) {
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<std::size_t>(m));
  for (const OpKind kind : {OpKind::forward, OpKind::backward})
    for (int microbatch = 0; microbatch < m; ++microbatch)
      ops.push_back({kind, stage, microbatch, domain});
  return ops;
}

Schedule line_gpipe(int pp, int m, int domains) {
  Schedule schedule = empty_line("gpipe", pp, m, domains);
  std::size_t rank = 0;
  for (int domain = 0; domain < domains; ++domain)
    for (int stage = 0; stage < pp; ++stage)
      schedule.ranks[rank++] = forwards_then_backwards(stage, domain, m);
  return schedule;
}

Schedule line_1f1b(int pp, int m, int domains) {
  Schedule schedule = empty_line("1f1b", pp, m, domains);
  std::size_t rank = 0;
  for (int domain = 0; domain < domains; ++domain)
    for (int stage = 0; stage < pp; ++stage)
      schedule.ranks[rank++] = one_forward_one_backward(stage, domain, pp - 1 - stage, m);
  return schedule;
}

}  // namespace hairpin::schedule
