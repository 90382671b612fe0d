#include "hairpin/schedule/command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "hairpin/schedule/advice.h"
#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/explain.h"
#include "hairpin/schedule/logical.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

std::string show_lists(const std::vector<std::vector<Op>>& lists,
                       const std::vector<std::string>& labels, const Notation& notation,
                       bool json) {
  return json ? ops_json(lists, notation) : ops_table(lists, labels, notation);
}

Result<std::string> show_logical(const ShowOptions& options) {
  if (options.kind != "hairpin-1f1b")
    return bad_input(
        "schedule {} has no logical edge stages to show; --logical goes with hairpin-1f1b",
        options.kind);
  if (options.generate.split_backward)
    return bad_input("--logical shows whole backwards; leave --split-backward out");
  if (options.generate.domains != 1)
    return bad_input("--logical shows one domain, got {}; leave --domains out",
                     options.generate.domains);
  if (options.generate.edges != 1)
    return bad_input("--logical shows one edge replica, got {}; leave --edges out",
                     options.generate.edges);
  const int pp = options.generate.pp;
  const Schedule logical = logical_stages(pp, options.generate.microbatches);
  std::vector<std::string> labels = {"head"};
  for (int rank = 1; rank < pp; ++rank) labels.push_back(fmt::format("cloud {}", rank));
  labels.push_back("tail");
  const Notation notation(logical.num_stages(), /*edge_names=*/true, /*domains=*/false);
  return show_lists(logical.ranks, labels, notation, options.json);
}

// A schedule made for its times, and what they come to.
struct Made {
  Costs costs;
  Schedule schedule;
  Simulation simulation;
};

Result<Made> make(const SimulateOptions& options) {
  Made made;
  HAIRPIN_TRY(const Schedule layout, layout_of(options.kind, options.generate));
  HAIRPIN_TRY(made.costs, to_costs(layout, options.times));
  HAIRPIN_TRY(made.schedule, generate_for(options.kind, options.generate, made.costs));
  HAIRPIN_TRY(made.simulation, simulate(made.schedule, made.costs));
  return made;
}

// What surrounds a simulation in its report.
struct Context {
  double bound = 0;
  std::vector<Improvement> improved;
  std::optional<std::vector<int>> depth_needed;  // if hairpin-adaptive isn't close to the bound
};

Result<Context> context_of(const SimulateOptions& options, const Made& made) {
  Context context;
  HAIRPIN_TRY(context.bound, lower_bound(made.schedule, made.costs));
  HAIRPIN_TRY(context.improved, improvements(options.kind, options.generate, made.costs));
  if (options.kind == "hairpin-adaptive" && made.simulation.makespan > kClose * context.bound) {
    HAIRPIN_TRY(context.depth_needed, depth_to_be_close(options.generate, made.costs));
  }
  return context;
}

std::string report_json(const SimulateOptions& options, const Made& made, const Context& context) {
  const Simulation& s = made.simulation;
  nlohmann::ordered_json report = {{"kind", options.kind},
                                   {"pp", options.generate.pp},
                                   {"microbatches", options.generate.microbatches},
                                   {"domains", options.generate.domains},
                                   {"edges", made.schedule.edge_ranks},
                                   {"latency", options.times.latency},
                                   {"makespan", s.makespan},
                                   {"step", s.step},
                                   {"lower_bound", context.bound},
                                   {"mean_bubble", s.mean_bubble},
                                   {"busy", s.busy},
                                   {"bubble", s.bubble},
                                   {"peak_in_flight", s.peak_in_flight.rank},
                                   {"peak_in_flight_by_stage", s.peak_in_flight.stage},
                                   {"pending_weights_by_stage", s.peak_in_flight.pending_weights},
                                   {"link_busy_up", s.link_busy_up},
                                   {"link_busy_down", s.link_busy_down},
                                   {"critical_path", nlohmann::ordered_json::object()},
                                   {"depth_needed", nullptr},
                                   {"advice", advice(context.improved, s.step)},
                                   {"improvements", nlohmann::ordered_json::object()}};
  for (const auto& [name, share] : path_shares(made.schedule, s))
    report["critical_path"][name] = share;
  if (context.depth_needed) report["depth_needed"] = *context.depth_needed;
  for (const Improvement& one : context.improved) report["improvements"][one.what] = one.step;
  return report.dump() + "\n";
}

std::string ranks_text(const Made& made) {
  const Simulation& s = made.simulation;
  const auto labels = rank_labels(made.schedule);
  std::size_t width = 0;
  for (const auto& label : labels) width = std::max(width, label.size());
  std::string text;
  for (std::size_t rank = 0; rank < labels.size(); ++rank)
    text += fmt::format("{:<{}}  busy {:g}, bubble {:.1f} %, peak in flight {}\n", labels[rank],
                        width, s.busy[rank], 100 * s.bubble[rank], s.peak_in_flight.rank[rank]);
  if (!made.schedule.split_backward.empty())
    text += fmt::format("pending weights by stage: {}\n",
                        fmt::join(s.peak_in_flight.pending_weights, " "));
  return text;
}

std::string report_text(const Made& made, const Context& context) {
  const Simulation& s = made.simulation;
  std::string text =
      fmt::format("{}: makespan {:g}, step {:g}, lower bound {:g}, mean bubble {:.1f} %\n",
                  made.schedule.kind, s.makespan, s.step, context.bound, 100 * s.mean_bubble);
  text += ranks_text(made) + busy_line(made.schedule, s) + "\ncritical path:";
  const char* separator = " ";
  for (const auto& [name, share] : path_shares(made.schedule, s))
    text += fmt::format("{}{} {:.0f} %", std::exchange(separator, ", "), name, 100 * share);
  text += "\n" + advice(context.improved, s.step) + "\n";
  if (context.depth_needed)
    text += fmt::format("{} x bound needs {} in flight by stage\n", kClose,
                        fmt::join(*context.depth_needed, " "));
  return text;
}

}  // namespace

Result<std::string> show(const ShowOptions& options) {
  HAIRPIN_TRY(const Schedule layout, layout_of(options.kind, options.generate));
  if (options.logical) return show_logical(options);
  HAIRPIN_TRY(const Costs costs, to_costs(layout, options.times));
  HAIRPIN_TRY(const Schedule schedule, generate_for(options.kind, options.generate, costs));
  return show_lists(schedule.ranks, rank_labels(schedule), Notation(schedule), options.json);
}

Result<std::string> simulate_report(const SimulateOptions& options) {
  HAIRPIN_TRY(const Made made, make(options));
  HAIRPIN_TRY(const Context context, context_of(options, made));
  return options.json ? report_json(options, made, context) : report_text(made, context);
}

Result<Timeline> simulate_timeline(const SimulateOptions& options) {
  HAIRPIN_TRY(const Made made, make(options));
  return timeline_of(made.schedule, made.costs, made.simulation);
}

}  // namespace hairpin::schedule
