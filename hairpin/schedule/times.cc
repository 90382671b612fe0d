#include "hairpin/schedule/times.h"

#include <cmath>

namespace hairpin::schedule {
namespace {

constexpr double kUnit = 1000;  // microseconds

Result<void> check_time(const char* what, std::int64_t time) {
  if (time >= 0 && time <= kMaxMicroseconds) return {};
  return bad_input("a time of {} is {} us; it must be from 0 to {}", what, time, kMaxMicroseconds);
}

Result<std::vector<double>> exact(const char* what, const std::vector<std::int64_t>& times) {
  std::vector<double> made;
  for (const std::int64_t time : times) {
    HAIRPIN_CHECK_OK(check_time(what, time));
    made.push_back(static_cast<double>(time));
  }
  return made;
}

Result<Transfer> exact(const TransferTimes& times) {
  HAIRPIN_CHECK_OK(check_time("transfer", times.activation));
  HAIRPIN_CHECK_OK(check_time("transfer", times.gradient));
  return Transfer{static_cast<double>(times.activation), static_cast<double>(times.gradient)};
}

// Far too long a time becomes one that `to_costs` refuses.
std::int64_t rounded(double time) {
  return std::llround(std::fmin(time * kUnit, 2.0 * static_cast<double>(kMaxMicroseconds)));
}

std::vector<std::int64_t> rounded(const std::vector<double>& times) {
  std::vector<std::int64_t> made;
  for (const double time : times) made.push_back(rounded(time));
  return made;
}

TransferTimes rounded(const Transfer& transfer) {
  return {rounded(transfer.activation), rounded(transfer.gradient)};
}

}  // namespace

Times unit_times(const Schedule& layout) {
  const Costs costs = unit_costs(layout);
  return {.forward = rounded(costs.forward), .backward = rounded(costs.backward)};
}

Result<Costs> to_costs(const Schedule& layout, const Times& times) {
  Costs costs;
  HAIRPIN_TRY(costs.forward, exact("forward", times.forward));
  HAIRPIN_TRY(costs.backward, exact("backward", times.backward));
  HAIRPIN_TRY(costs.backward_weight, exact("weights' gradients", times.backward_weight));
  HAIRPIN_CHECK_OK(check_time("latency", times.latency));
  costs.link.latency = static_cast<double>(times.latency);
  HAIRPIN_TRY(costs.link.up, exact(times.up));
  HAIRPIN_TRY(costs.link.down, exact(times.down));
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  return costs;
}

Result<Times> to_times(const Schedule& layout, const Costs& costs) {
  HAIRPIN_CHECK_OK(check_costs(layout, costs));
  Times times{.forward = rounded(costs.forward),
              .backward = rounded(costs.backward),
              .backward_weight = rounded(costs.backward_weight),
              .latency = rounded(costs.link.latency),
              .up = rounded(costs.link.up),
              .down = rounded(costs.link.down)};
  HAIRPIN_CHECK_OK(to_costs(layout, times));
  return times;
}

Result<std::int64_t> transfer_microseconds(std::int64_t bytes, std::int64_t bytes_per_second) {
  if (bytes_per_second <= 0)
    return bad_input("bandwidth is {} bytes a second; it must be above zero", bytes_per_second);
  if (bytes < 0) return bad_input("{} bytes cross the link; give zero or more", bytes);
  const auto scaled = static_cast<unsigned __int128>(bytes) * 1'000'000;
  const auto rate = static_cast<unsigned __int128>(bytes_per_second);
  const auto time = (scaled + rate - 1) / rate;
  if (time > static_cast<unsigned __int128>(kMaxMicroseconds))
    return bad_input("{} bytes at {} bytes a second take longer than {} us a microbatch", bytes,
                     bytes_per_second, kMaxMicroseconds);
  return static_cast<std::int64_t>(time);
}

}  // namespace hairpin::schedule
