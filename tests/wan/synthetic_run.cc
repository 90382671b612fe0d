// A step of synthetic stages over a real link, measured and beside its simulation. Two programs,
// one a site, or both sites in one over the link in memory. One JSON object a line: "plan", "step"
// and "summary" at the edge, "rank" and "stage" of each site. docs/wan.md, "Synthetic stages".
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "CLI/CLI.hpp"
#include "hairpin/link/keys.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/link/tls_link.h"
#include "hairpin/schedule/notation.h"
#include "tests/wan/synthetic_plan.h"
#include "tests/wan/synthetic_site.h"

namespace hairpin::wan {
namespace {

using Json = nlohmann::ordered_json;

struct Command {
  SyntheticOptions options;
  std::string role = "both", codec = "fp32";
  int unit_us = 10000, latency_us = 0;
  int warm_up = 1;
  link::TlsLinkOptions link;
  int memory_latency_us = 0, memory_jitter_us = 0;
  std::string trace, write_keys;
  bool realtime = false;
};

void say(const Json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

// Goes before all programs that haven't asked for the same: what else the machine does is then no
// part of what is measured. False where that isn't allowed.
bool go_first() {
  const sched_param priority{.sched_priority = 1};
  return ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

double seconds(double microseconds) { return microseconds / 1e6; }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void say_plan(const SyntheticPlan& plan, bool realtime) {
  const auto& o = plan.options;
  const auto& link = plan.costs.link;
  say({{"event", "plan"},
       {"kind", o.kind},
       {"pp", o.pp},
       {"microbatches", o.microbatches},
       {"split_backward", o.split_backward},
       {"realtime", realtime},
       {"unit_seconds", seconds(static_cast<double>(o.unit.count()))},
       {"simulated_latency_seconds", seconds(link.latency)},
       {"simulated_transfer_up_seconds", seconds(link.up.activation)},
       {"simulated_transfer_down_seconds", seconds(link.down.activation)},
       {"simulated_step_seconds", seconds(plan.simulation.step)},
       {"simulated_makespan_seconds", seconds(plan.simulation.makespan)},
       {"bound_seconds", seconds(plan.bound)}});
}

void say_steps(const SyntheticPlan& plan, const SyntheticSite& site, int warm_up) {
  const double simulated = seconds(plan.simulation.step);
  std::vector<double> measured;
  for (std::size_t i = 0; i < site.steps().size(); ++i) {
    const double took = site.steps()[i].seconds;
    const bool warms_up = i < static_cast<std::size_t>(warm_up);
    if (!warms_up) measured.push_back(took);
    say({{"event", "step"}, {"step", i + 1}, {"warm_up", warms_up}, {"seconds", took}});
  }
  if (measured.empty()) return;
  const double middle = median(measured);
  say({{"event", "summary"},
       {"steps", measured.size()},
       {"median_seconds", middle},
       {"simulated_seconds", simulated},
       {"ratio", middle / simulated}});
}

// By how much a rank's ops took longer than they were to, in the mean of all of them.
double overhead(const SyntheticPlan& plan, const SyntheticRank& rank) {
  double over = 0, ops = 0;
  for (const auto& step : rank.times)
    for (const auto& op : step) {
      over +=
          std::chrono::duration<double, std::micro>(op.duration()).count() - plan.costs.of(op.op);
      ops += 1;
    }
  return seconds(over / std::max(ops, 1.0));
}

void say_ranks(const SyntheticPlan& plan, const SyntheticSite& site) {
  const auto labels = schedule::rank_labels(plan.schedule);
  const auto& bound = plan.simulation.peak_in_flight;
  for (const auto& rank : site.ranks()) {
    const auto& label = labels[static_cast<std::size_t>(rank.rank)];
    say({{"event", "rank"}, {"rank", label}, {"op_overhead_seconds", overhead(plan, rank)}});
    for (const auto& [index, stage] : rank.stages) {
      const auto i = static_cast<std::size_t>(index);
      say({{"event", "stage"},
           {"rank", label},
           {"stage", index},
           {"peak_in_flight", stage.peak_in_flight()},
           {"scheduled_peak_in_flight", bound.stage[i]},
           {"peak_pending_weights", stage.peak_pending_weights()},
           {"scheduled_peak_pending_weights", bound.pending_weights[i]}});
    }
  }
}

Result<void> run_site(const Command& command, const SyntheticPlan& plan, wire::Role role,
                      link::Link& link) {
  metrics::Trace trace({.process = static_cast<int>(role), .process_name = command.role});
  SyntheticSite site(plan, role, link, command.trace.empty() ? nullptr : &trace);
  HAIRPIN_CHECK_OK(site.run());
  if (role == wire::Role::edge) say_steps(plan, site, command.warm_up);
  say_ranks(plan, site);
  return command.trace.empty() ? Result<void>() : trace.write(command.trace);
}

Result<void> run_both(const Command& command, const SyntheticPlan& plan) {
  link::MemoryLinkOptions options;
  options.delay_up = options.delay_down = std::chrono::microseconds(command.memory_latency_us);
  options.jitter = std::chrono::microseconds(command.memory_jitter_us);
  auto pair = link::make_memory_pair(options);
  Result<void> cloud;
  std::jthread thread([&] { cloud = run_site(command, plan, wire::Role::cloud, *pair.cloud); });
  auto edge = run_site(command, plan, wire::Role::edge, *pair.edge);
  thread.join();
  HAIRPIN_CHECK_OK(edge);
  return cloud;
}

Result<void> run(Command& command) {
  if (!command.write_keys.empty()) return link::make_keys(command.write_keys);
  command.options.unit = std::chrono::microseconds(command.unit_us);
  command.options.latency = std::chrono::microseconds(command.latency_us);
  HAIRPIN_TRY(const auto plan, make_plan(command.options));
  const bool realtime = command.realtime && go_first();  // before there are other threads
  if (command.role != "cloud") say_plan(plan, realtime);
  if (command.role == "both") return run_both(command, plan);
  if (command.role == "edge") {
    HAIRPIN_TRY(const auto link, link::dial(command.link));
    return run_site(command, plan, wire::Role::edge, *link);
  }
  HAIRPIN_TRY(auto listener, link::Listener::bind(command.link));
  HAIRPIN_TRY(const auto link, listener.accept());
  return run_site(command, plan, wire::Role::cloud, *link);
}

void add_options(CLI::App& app, Command& c) {
  auto& o = c.options;
  app.add_option("--role", c.role, "edge, cloud, or both in memory")
      ->check(CLI::IsMember({"edge", "cloud", "both"}));
  app.add_option("--host", c.link.host, "where the cloud listens");
  app.add_option("--port", c.link.port);
  app.add_option("--keys", c.link.keys, "this site's keys (`hairpin keys`)");
  app.add_option("--write-keys", c.write_keys, "only makes both sites' keys in this new folder");
  app.add_option("--connections", c.link.connections);
  app.add_option("--kind", o.kind);
  app.add_option("--pp", o.pp);
  app.add_option("--microbatches", o.microbatches);
  app.add_flag("--split-backward", o.split_backward);
  app.add_option("--in-flight-cap", o.in_flight_cap)->delimiter(',');
  app.add_option("--pending-weights-cap", o.pending_weights_cap)->delimiter(',');
  app.add_option("--unit-us", c.unit_us, "tf");
  app.add_option("--latency-us", c.latency_us, "one way, as the schedule is made for it");
  app.add_option("--up-bandwidth", o.up_bandwidth, "bytes a second, as above");
  app.add_option("--down-bandwidth", o.down_bandwidth);
  app.add_option("--tokens", o.tokens);
  app.add_option("--hidden", o.hidden);
  app.add_option("--codec", c.codec)->check(CLI::IsMember({"fp32", "bf16", "int8", "int4"}));
  app.add_option("--steps", o.steps, "warm-up included");
  app.add_option("--warm-up", c.warm_up);
  app.add_option("--memory-latency-us", c.memory_latency_us, "of the link in memory");
  app.add_option("--memory-jitter-us", c.memory_jitter_us, "up to so much more");
  app.add_flag("--realtime", c.realtime, "with a real-time priority, if that is allowed");
  app.add_option("--trace", c.trace, "a Chrome trace of this site's ranks");
}

wire::Codec codec_of(const std::string& name) {
  for (const auto codec : {wire::Codec::bf16, wire::Codec::int8, wire::Codec::int4})
    if (wire::codec_name(codec) == name) return codec;
  return wire::Codec::fp32;
}

int main(int argc, char** argv) {
  CLI::App app("Synthetic stages over a real link");
  Command command;
  add_options(app, command);
  CLI11_PARSE(app, argc, argv);
  command.options.codec = codec_of(command.codec);
  const auto done = run(command);
  if (done) return 0;
  fmt::print(stderr, "synthetic_run: {}\n", done.error().message);
  return static_cast<int>(done.error().kind);
}

}  // namespace
}  // namespace hairpin::wan

int main(int argc, char** argv) { return hairpin::wan::main(argc, argv); }
