#include "hairpin/schedule/time_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hairpin::schedule {
namespace {

Result<void> check_line(const Schedule& layout, const TimeOptions& o) {
  if (layout.is_hairpin()) return {};
  for (const auto& [name, time] :
       {std::pair("fs", o.fs), std::pair("fe", o.fe), std::pair("bs", o.bs), std::pair("be", o.be)})
    if (time)
      return bad_input(
          "--{} is a time of an edge, which {} on a line of ranks has not; give --f and --b", name,
          layout.kind);
  const bool link = o.transfer_up || o.transfer_down || o.bytes || o.bandwidth_up ||
                    o.bandwidth_down || o.latency != 0;
  if (link)
    return bad_input(
        "--latency and transfers are between edge and cloud, which {} on a line of ranks has not; "
        "leave them out",
        layout.kind);
  return {};
}

// Gives the cloud's stages, or all of a line, the times of LIST.
Result<void> fill(const Schedule& layout, const char* name, const std::vector<double>& list,
                  std::vector<double>& times) {
  const std::size_t ends = layout.is_hairpin() ? 1 : 0;
  const std::size_t stages = times.size() - 2 * ends;
  if (list.empty()) return {};
  if (list.size() != 1 && list.size() != stages)
    return bad_input("--{} has {} times for {} stages; give one for all or one each", name,
                     list.size(), stages);
  for (std::size_t i = 0; i < stages; ++i) times[ends + i] = list.size() == 1 ? list[0] : list[i];
  return {};
}

// The transfer time of one direction.
Result<Transfer> transfer(const char* name, const std::optional<double>& time,
                          const std::optional<double>& bytes,
                          const std::optional<double>& bandwidth) {
  if (time && bandwidth)
    return bad_input("--transfer-{} and --bandwidth-{} say the same; give one of them", name, name);
  if (bandwidth && !bytes)
    return bad_input("--bandwidth-{} needs --bytes, what one microbatch sends at a crossing", name);
  if (!bandwidth) return Transfer{time.value_or(0), time.value_or(0)};
  HAIRPIN_TRY(const double made, transfer_time(*bytes, *bandwidth));
  return Transfer{made, made};
}

}  // namespace

Result<Costs> to_costs(const Schedule& layout, const TimeOptions& o) {
  HAIRPIN_CHECK_OK(check_line(layout, o));
  Costs costs = unit_costs(layout);
  HAIRPIN_CHECK_OK(fill(layout, "f", o.f, costs.forward));
  HAIRPIN_CHECK_OK(fill(layout, "b", o.b, costs.backward));
  if (layout.is_hairpin()) {
    costs.forward.front() = o.fs.value_or(1);
    costs.forward.back() = o.fe.value_or(1);
    costs.backward.front() = o.be.value_or(2);
    costs.backward.back() = o.bs.value_or(2);
  }
  if (!(o.weight_share >= 0 && o.weight_share <= 1))
    return bad_input("--weight-share is {}; give a part from 0 to 1", o.weight_share);
  for (const double backward : costs.backward)
    costs.backward_weight.push_back(o.weight_share * backward);
  costs.link.latency = o.latency;
  if (o.bytes && !o.bandwidth_up && !o.bandwidth_down)
    return bad_input("--bytes needs a bandwidth; give --bandwidth-up, --bandwidth-down or both");
  HAIRPIN_TRY(costs.link.up, transfer("up", o.transfer_up, o.bytes, o.bandwidth_up));
  HAIRPIN_TRY(costs.link.down, transfer("down", o.transfer_down, o.bytes, o.bandwidth_down));
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  return costs;
}

}  // namespace hairpin::schedule
