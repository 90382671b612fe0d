#include "tests/wan/synthetic_plan.h"

#include <fmt/ranges.h>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/times.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::wan {
namespace {

Result<schedule::TransferTimes> transfers(const SyntheticOptions& options, std::int64_t bandwidth) {
  if (bandwidth == 0) return schedule::TransferTimes{};
  const auto row = wire::row_bytes(options.codec, static_cast<std::uint32_t>(options.hidden));
  const auto bytes = options.tokens * static_cast<std::int64_t>(row) +
                     static_cast<std::int64_t>(wire::kTensorFrameBytes);
  HAIRPIN_TRY(const auto time, schedule::transfer_microseconds(bytes, bandwidth));
  return schedule::TransferTimes{time, time};
}

Result<schedule::Times> times_of(const SyntheticOptions& options,
                                 const schedule::Schedule& layout) {
  schedule::Times times;
  const auto units = schedule::unit_costs(layout);
  for (const double forward : units.forward)
    times.forward.push_back(static_cast<std::int64_t>(forward) * options.unit.count());
  for (const double backward : units.backward)
    times.backward.push_back(static_cast<std::int64_t>(backward) * options.unit.count());
  times.latency = options.latency.count();
  HAIRPIN_TRY(times.up, transfers(options, options.up_bandwidth));
  HAIRPIN_TRY(times.down, transfers(options, options.down_bandwidth));
  return times;
}

Result<void> check_sizes(const SyntheticOptions& o) {
  for (const auto& [name, value] : {std::pair{"tokens", o.tokens}, {"hidden", o.hidden}})
    if (value < 1 || value > (1 << 20))
      return bad_input("{} is {}; it must be from 1 to {}", name, value, 1 << 20);
  if (o.steps < 1) return bad_input("steps is {}; it must be at least 1", o.steps);
  return {};
}

}  // namespace

Result<SyntheticPlan> make_plan(const SyntheticOptions& options) {
  HAIRPIN_CHECK_OK(check_sizes(options));
  SyntheticPlan plan{.options = options};
  schedule::GenerateOptions generate{.pp = options.pp,
                                     .microbatches = options.microbatches,
                                     .shape = schedule::Shape::hairpin,
                                     .split_backward = options.split_backward,
                                     .in_flight_cap = options.in_flight_cap,
                                     .pending_weights_cap = options.pending_weights_cap};
  HAIRPIN_TRY(const auto layout, schedule::layout_of(options.kind, generate));
  HAIRPIN_TRY(generate.times, times_of(options, layout));
  HAIRPIN_TRY(plan.costs, schedule::to_costs(layout, *generate.times));
  HAIRPIN_TRY(plan.schedule, schedule::generate(options.kind, generate));
  HAIRPIN_TRY(plan.simulation, schedule::simulate(plan.schedule, plan.costs));
  HAIRPIN_TRY(plan.bound, schedule::lower_bound(plan.schedule, plan.costs));
  return plan;
}

link::Contract contract_of(const SyntheticOptions& o) {
  link::Contract contract;
  const auto add = [&](const char* name, const auto& value) {
    contract.fields.emplace_back(name, fmt::format("{}", value));
  };
  add("kind", o.kind);
  add("pp", o.pp);
  add("microbatches", o.microbatches);
  add("split backward", o.split_backward);
  add("in-flight cap", o.in_flight_cap);
  add("pending weights cap", o.pending_weights_cap);
  add("unit, us", o.unit.count());
  add("latency, us", o.latency.count());
  add("bandwidth up", o.up_bandwidth);
  add("bandwidth down", o.down_bandwidth);
  add("tokens", o.tokens);
  add("hidden", o.hidden);
  add("codec", wire::codec_name(o.codec));
  add("steps", o.steps);
  return contract;
}

}  // namespace hairpin::wan
