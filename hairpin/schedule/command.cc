#include "hairpin/schedule/command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/costs.h"
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

// The times asked for, over the defaults.
Result<Costs> costs_of(const Schedule& schedule, const SimulateOptions& options) {
  Costs costs = unit_costs(schedule);
  costs.link.latency = options.latency;
  const bool hairpin = schedule.is_hairpin();
  if (!hairpin)
    for (const auto& [name, time] : {std::pair("fs", options.fs), std::pair("fe", options.fe),
                                     std::pair("bs", options.bs), std::pair("be", options.be)})
      if (time)
        return bad_input(
            "--{} is a time of an edge, which {} on a line of ranks has not; give --f and --b",
            name, schedule.kind);
  if (!hairpin && options.latency != 0)
    return bad_input(
        "--latency is between edge and cloud, which {} on a line of ranks has not; leave it out",
        schedule.kind);
  std::fill(costs.forward.begin() + hairpin, costs.forward.end() - hairpin, options.f.value_or(2));
  std::fill(costs.backward.begin() + hairpin, costs.backward.end() - hairpin,
            options.b.value_or(4));
  if (hairpin) {
    costs.forward.front() = options.fs.value_or(1);
    costs.forward.back() = options.fe.value_or(1);
    costs.backward.front() = options.be.value_or(2);
    costs.backward.back() = options.bs.value_or(2);
  }
  return costs;
}

std::string report_json(const SimulateOptions& options, const Schedule& schedule,
                        const Simulation& s, double bound) {
  nlohmann::ordered_json report = {{"kind", options.kind},
                                   {"pp", options.generate.pp},
                                   {"microbatches", options.generate.microbatches},
                                   {"domains", options.generate.domains},
                                   {"edges", schedule.edge_ranks},
                                   {"latency", options.latency},
                                   {"makespan", s.makespan},
                                   {"lower_bound", bound},
                                   {"mean_bubble", s.mean_bubble},
                                   {"busy", s.busy},
                                   {"bubble", s.bubble},
                                   {"peak_in_flight", s.peak_in_flight.rank},
                                   {"peak_in_flight_by_stage", s.peak_in_flight.stage}};
  return report.dump() + "\n";
}

std::string report_text(const Schedule& schedule, const Simulation& s, double bound) {
  std::string text = fmt::format("{}: makespan {:g}, lower bound {:g}, mean bubble {:.1f} %\n",
                                 schedule.kind, s.makespan, bound, 100 * s.mean_bubble);
  const auto labels = rank_labels(schedule);
  std::size_t width = 0;
  for (const auto& label : labels) width = std::max(width, label.size());
  for (std::size_t rank = 0; rank < labels.size(); ++rank)
    text += fmt::format("{:<{}}  busy {:g}, bubble {:.1f} %, peak in flight {}\n", labels[rank],
                        width, s.busy[rank], 100 * s.bubble[rank], s.peak_in_flight.rank[rank]);
  return text;
}

}  // namespace

Result<std::string> show(const ShowOptions& options) {
  HAIRPIN_TRY(const Schedule schedule, generate(options.kind, options.generate));
  if (options.logical) return show_logical(options);
  return show_lists(schedule.ranks, rank_labels(schedule), Notation(schedule), options.json);
}

Result<std::string> simulate_report(const SimulateOptions& options) {
  HAIRPIN_TRY(const Schedule schedule, generate(options.kind, options.generate));
  HAIRPIN_TRY(const Costs costs, costs_of(schedule, options));
  HAIRPIN_TRY(const Simulation simulation, simulate(schedule, costs));
  HAIRPIN_TRY(const double bound, lower_bound(schedule, costs));
  return options.json ? report_json(options, schedule, simulation, bound)
                      : report_text(schedule, simulation, bound);
}

}  // namespace hairpin::schedule
