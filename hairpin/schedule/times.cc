#include "hairpin/schedule/times.h"

#include <cmath>

namespace hairpin::schedule {
namespace {

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

double longest(const Costs& costs) {
  double longest = costs.link.latency;
  for (const auto* times : {&costs.forward, &costs.backward})
    for (const double time : *times) longest = std::fmax(longest, time);
  for (const Transfer& transfer : {costs.link.up, costs.link.down})
    longest = std::fmax(longest, std::fmax(transfer.activation, transfer.gradient));
  return longest;
}

// Microseconds of a unit: such that the longest time has seven digits, within reason.
double unit_for(double longest) {
  double unit = 1;
  while (longest * unit < 1e6 && unit < 1e15) unit *= 10;
  while (longest * unit >= 1e7 && unit > 1e-15) unit /= 10;
  return unit;
}

class Rounded {
 public:
  explicit Rounded(double unit) : unit_(unit) {}
  // Far too long a time becomes one that `to_costs` refuses.
  std::int64_t operator()(double time) const {
    return std::llround(std::fmin(time * unit_, 2.0 * static_cast<double>(kMaxMicroseconds)));
  }
  std::vector<std::int64_t> operator()(const std::vector<double>& times) const {
    std::vector<std::int64_t> made;
    for (const double time : times) made.push_back((*this)(time));
    return made;
  }
  TransferTimes operator()(const Transfer& transfer) const {
    return {(*this)(transfer.activation), (*this)(transfer.gradient)};
  }

 private:
  double unit_;
};

}  // namespace

Times unit_times(const Schedule& layout) {
  const Costs costs = unit_costs(layout);
  const Rounded rounded(1000);
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
  const Rounded rounded(unit_for(longest(costs)));
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
