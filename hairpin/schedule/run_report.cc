#include "hairpin/schedule/run_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "hairpin/schedule/after_run.h"
#include "hairpin/schedule/bound.h"
#include "hairpin/schedule/explain.h"
#include "hairpin/schedule/measured.h"
#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/run_files.h"
#include "hairpin/schedule/simulate.h"

namespace hairpin::schedule {
namespace {

// Busy parts of the makespan.
struct Busy {
  std::string name;
  std::optional<double> measured;  // unset: no trace
  double simulated = 0;
};

struct Findings {
  std::int64_t step = 0, steps = 0;
  Record record;  // with the times that were simulated
  bool agreed_times = false;
  MeasuredStep measured;
  std::optional<double> measured_step;  // microseconds
  Costs costs;
  Simulation simulation;
  double bound = 0;
  std::vector<Busy> ranks, link;
  std::vector<std::pair<std::string, double>> path;
  std::string busy, advice;
  std::vector<std::string> missing;
  std::int64_t dropped = 0;  // spans that the traces left out
};

double part(double time, double makespan) { return makespan > 0 ? time / makespan : 0; }

void note_busy(Findings& f) {
  const auto labels = rank_labels(f.record.schedule);
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    Busy busy{.name = labels[rank], .measured = {}};
    if (!f.measured.spans[rank].empty())
      busy.measured = part(f.measured.busy(rank), f.measured.makespan);
    busy.simulated = part(f.simulation.busy[rank], f.simulation.makespan);
    f.ranks.push_back(std::move(busy));
  }
  if (f.record.schedule.edge_ranks == 0) return;
  for (const bool up : {true, false}) {
    Busy busy{.name = up ? "link up" : "link down", .measured = {}};
    if (!f.measured.frames.empty())
      busy.measured = part(f.measured.link_busy(up), f.measured.makespan);
    busy.simulated =
        part(up ? f.simulation.link_busy_up : f.simulation.link_busy_down, f.simulation.makespan);
    f.link.push_back(std::move(busy));
  }
}

// The times that are simulated.
Result<void> settle_times(Findings& f, const StepLine& line) {
  f.agreed_times = f.record.times.has_value();
  if (f.agreed_times) return {};
  const double latency = line.rtt_seconds.value_or(0) * 1e6 / 2;
  HAIRPIN_TRY(f.record.times,
              median_times(f.record.schedule, f.measured,
                           std::llround(std::min(latency, 1.0 * kMaxMicroseconds))));
  return {};
}

Result<void> simulate_it(Findings& f) {
  const Schedule& schedule = f.record.schedule;
  HAIRPIN_TRY(f.costs, to_costs(schedule, *f.record.times));
  HAIRPIN_TRY(f.simulation, simulate(schedule, f.costs));
  HAIRPIN_TRY(f.bound, lower_bound(schedule, f.costs));
  f.path = path_shares(schedule, f.simulation);
  f.busy = busy_line(schedule, f.simulation);
  HAIRPIN_TRY(f.advice, advice_for(f.record, f.costs, f.simulation.step));
  return {};
}

Result<Findings> find(const ReportOptions& options) {
  HAIRPIN_TRY(auto files, read_run(options.run));
  Findings f;
  HAIRPIN_TRY(f.steps, traced_steps(files.records.front().schedule, files.traces));
  f.step = options.step.value_or(f.steps);
  f.record = files.record_of(f.step);
  HAIRPIN_TRY(f.measured, measured_step(f.record.schedule, files.traces, f.step));
  HAIRPIN_TRY(const StepLine line, read_step_line(files.sites.front(), f.step));
  if (line.step_seconds) f.measured_step = *line.step_seconds * 1e6;
  HAIRPIN_CHECK_OK(settle_times(f, line));
  HAIRPIN_CHECK_OK(simulate_it(f));
  note_busy(f);
  f.missing = std::move(files.missing);
  for (const auto& trace : files.traces) f.dropped += trace.dropped;
  return f;
}

nlohmann::ordered_json json_of(const std::vector<Busy>& busy) {
  auto list = nlohmann::ordered_json::array();
  for (const Busy& one : busy) {
    list.push_back(
        {{"name", one.name}, {"busy_measured", nullptr}, {"busy_simulated", one.simulated}});
    if (one.measured) list.back()["busy_measured"] = *one.measured;
  }
  return list;
}

std::string json_text(const Findings& f) {
  nlohmann::ordered_json report = {{"step", f.step},
                                   {"steps", f.steps},
                                   {"kind", f.record.schedule.kind},
                                   {"reason", f.record.reason},
                                   {"measured_makespan", f.measured.makespan},
                                   {"measured_step", nullptr},
                                   {"simulated_makespan", f.simulation.makespan},
                                   {"simulated_step", f.simulation.step},
                                   {"lower_bound", f.bound},
                                   {"agreed_times", f.agreed_times},
                                   {"cloud_clock_shift", f.measured.cloud_shift},
                                   {"ranks", json_of(f.ranks)},
                                   {"link", json_of(f.link)},
                                   {"critical_path", nlohmann::ordered_json::object()},
                                   {"busy", f.busy},
                                   {"advice", f.advice},
                                   {"missing_traces", f.missing},
                                   {"dropped_spans", f.dropped}};
  if (f.measured_step) report["measured_step"] = *f.measured_step;
  for (const auto& [name, share] : f.path) report["critical_path"][name] = share;
  return report.dump() + "\n";
}

std::string busy_text(const Findings& f) {
  std::vector<Busy> all = f.ranks;
  all.insert(all.end(), f.link.begin(), f.link.end());
  std::size_t width = 0;
  for (const Busy& one : all) width = std::max(width, one.name.size());
  std::string text = fmt::format("{:<{}}  busy measured  simulated\n", "", width);
  for (const Busy& one : all)
    text += fmt::format(
        "{:<{}}  {:>13}  {:>9}\n", one.name, width,
        one.measured ? fmt::format("{:.0f} %", 100 * *one.measured) : std::string("no trace"),
        fmt::format("{:.0f} %", 100 * one.simulated));
  return text;
}

std::string notes_text(const Findings& f) {
  std::string text;
  if (f.measured.cloud_shift != 0)
    text += fmt::format(
        "the sites' clocks differ: the cloud's times are moved by {:.3f} ms, to the middle of what "
        "is possible\n",
        f.measured.cloud_shift / 1000);
  if (f.dropped > 0)
    text += fmt::format(
        "the traces left {} later spans out: of the last steps frames may be missing\n", f.dropped);
  for (const auto& file : f.missing)
    text += fmt::format("{}: not there; output.trace = true on that site would have written it\n",
                        file);
  return text;
}

std::string plain_text(const Findings& f) {
  const auto ms = milliseconds_text;
  std::string text = fmt::format("step {} of {} traced: {}, {}\n", f.step, f.steps,
                                 f.record.schedule.kind, f.record.reason);
  text += fmt::format("measured   makespan {} ms{}\n", ms(f.measured.makespan),
                      f.measured_step ? fmt::format(", step {} ms with its update and records",
                                                    ms(*f.measured_step))
                                      : std::string());
  text += fmt::format("simulated  makespan {} ms, step {} ms, lower bound {} ms, at {}\n",
                      ms(f.simulation.makespan), ms(f.simulation.step), ms(f.bound),
                      f.agreed_times ? "the times agreed on" : "this step's own median times");
  text += busy_text(f) + f.busy + "\ncritical path:";
  const char* separator = " ";
  for (const auto& [name, share] : f.path)
    if (share >= 0.005)
      text += fmt::format("{}{} {:.0f} %", std::exchange(separator, ", "), name, 100 * share);
  return text + "\n" + f.advice + "\n" + notes_text(f);
}

}  // namespace

Result<RunReport> run_report(const ReportOptions& options) {
  HAIRPIN_TRY(const Findings f, find(options));
  RunReport report{.text = options.json ? json_text(f) : plain_text(f), .timelines = {}};
  const Schedule& schedule = f.record.schedule;
  report.timelines.push_back(timeline_of(schedule, f.measured));
  report.timelines.back().title = fmt::format("step {} measured, {}", f.step, schedule.kind);
  report.timelines.push_back(timeline_of(schedule, f.costs, f.simulation));
  report.timelines.back().title = fmt::format("step {} simulated, {}", f.step, schedule.kind);
  report.timelines.back().unit = "us";
  return report;
}

}  // namespace hairpin::schedule
