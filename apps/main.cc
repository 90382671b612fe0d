// The command line of `hairpin`: names and options of the commands, and what their errors become.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/process_setup.h"
#include "hairpin/base/check.h"
#include "hairpin/base/nearest.h"
#include "hairpin/tensor/memory_meter.h"

namespace hairpin::apps {
namespace {

using Command = std::function<Result<void>()>;

constexpr int kUsageExitCode = static_cast<int>(ErrorKind::bad_input);

// A subcommand that runs `run` with the `Options` its flags fill in.
template <class Options>
struct Added {
  CLI::App* app;
  std::shared_ptr<Options> options;
};
template <class Options>
Added<Options> add_command(CLI::App& parent, Command& chosen, const std::string& name,
                           const std::string& what, Result<void> (*run)(const Options&)) {
  auto* app = parent.add_subcommand(name, what);
  auto options = std::make_shared<Options>();
  app->callback([&chosen, options, run] { chosen = [options, run] { return run(*options); }; });
  return {app, options};
}

CLI::App& add_group(CLI::App& parent, const std::string& name, const std::string& what) {
  auto* app = parent.add_subcommand(name, what);
  app->require_subcommand(1);
  return *app;
}

void add_training(CLI::App& root, Command& chosen) {
  const auto add = [&](const char* name, const char* what, Result<void> (*run)(const JobOptions&)) {
    const auto [app, options] = add_command(root, chosen, name, what, run);
    app->add_option("job", options->job, "Job file (TOML)")->required();
    app->add_option("--set", options->set, "Override a key of the job; may be repeated")
        ->type_name("TABLE.KEY=VALUE")
        ->allow_extra_args(false);
  };
  add("train", "Train a job in this process: one site, or both sites of a split", &train);
  add("edge", "Run the edge of a split job: dials the cloud, exports the model", &edge);
  add("cloud", "Run the cloud of a split job: waits for the edge", &cloud);
}

void add_model(CLI::App& root, Command& chosen) {
  const auto [eval_app, measured] =
      add_command(root, chosen, "eval", "Held-out loss of a model on chat samples", &eval);
  auto& evaluate = measured->evaluate;
  eval_app->add_option("model", evaluate.model, "Hugging Face directory")->required();
  eval_app->add_option("--data", evaluate.data, "Chat samples (JSONL)")->required();
  eval_app->add_option("--sequence-length", evaluate.sequence_length, "Most tokens of a sample")
      ->capture_default_str()
      ->check(CLI::Range(2, 1 << 20));
  eval_app->add_option("--threads", evaluate.threads, "Compute threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  eval_app->add_flag("--json", measured->json, "Print JSON");

  const auto [generate_app, asked] =
      add_command(root, chosen, "generate", "Answer prompts greedily", &generate);
  auto& options = asked->generate;
  generate_app->add_option("model", options.model, "Hugging Face directory")->required();
  generate_app->add_option("--prompt", options.prompts, "A user's message; may be repeated")
      ->required()
      ->type_name("TEXT")
      ->allow_extra_args(false);
  generate_app->add_option("--max-tokens", options.max_tokens, "Most tokens of an answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  generate_app->add_option("--threads", options.threads, "Compute threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  generate_app->add_flag("--json", asked->json, "Print one JSON object a prompt");
}

void add_keys(CLI::App& root, Command& chosen) {
  const auto [app, options] = add_command(
      root, chosen, "keys", "Make certificates for both sites under a new authority", &keys);
  app->add_option("directory", options->directory, "New directory to write edge/ and cloud/ into")
      ->required();
  app->add_option("--days", options->days, "Validity of the certificates")->capture_default_str();
}

void add_convert(CLI::App& root, Command& chosen) {
  auto& group = add_group(root, "convert", "Cut a model into both sites' halves, or join them");

  const auto [split, cut] =
      add_command(group, chosen, "split", "Write the edge's and the cloud's half", &convert_split);
  split->add_option("model", cut->source, "Hugging Face directory of the whole model")->required();
  split->add_option("--layers", cut->layers, "Decoder layers: edge head, cloud ..., edge tail")
      ->required()
      ->type_name("HEAD,CLOUD,...,TAIL")
      ->delimiter(',')
      ->allow_extra_args(false);
  split->add_option("--edge", cut->edge, "New directory for the edge's half")->required();
  split->add_option("--cloud", cut->cloud, "New directory for the cloud's half")->required();
  split->add_flag("--allow-plaintext-cut", cut->allow_plaintext_cut,
                  "Allow a head or tail without layers, which gives text or labels away");

  const auto [merge, halves] =
      add_command(group, chosen, "merge", "Join two halves to the whole model", &convert_merge);
  merge->add_option("edge", halves->edge, "The edge's half")->required();
  merge->add_option("cloud", halves->cloud, "The cloud's half")->required();
  merge->add_option("--output", halves->output, "New directory for the whole model")->required();
}

void add_audit(CLI::App& root, Command& chosen) {
  auto& group = add_group(root, "audit", "Check what has left the edge");
  const auto [log, options] =
      add_command(group, chosen, "log", "Verify an egress log and sum it up", &audit_log);
  log->add_option("file", options->log, "The run's egress.jsonl")->required();
  log->add_flag("--json", options->json, "Print JSON");
}

void add_layout_options(CLI::App& app, schedule::GenerateOptions& options) {
  app.add_option("--pp", options.pp, "Pipeline ranks, the edge included")->required();
  app.add_option("--microbatches", options.microbatches, "Per domain and step")->required();
  app.add_option("--domains", options.domains, "Data-parallel replicas of the cloud")
      ->capture_default_str();
  app.add_option("--edges", options.edges, "Data-parallel replicas of the edge")
      ->capture_default_str();
  using schedule::Shape;
  app.add_option("--shape", options.shape, "line or hairpin; only gpipe is both")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Shape>{{"line", Shape::line}, {"hairpin", Shape::hairpin}}));
  app.add_flag("--split-backward", options.split_backward,
               "Input gradients first, weights' gradients in waiting time");
  app.add_option("--cap", options.in_flight_cap,
                 "Most microbatches in flight: for all stages or one each")
      ->type_name("N,...")
      ->delimiter(',');
  app.add_option("--pending-weights", options.pending_weights_cap,
                 "Most weights' gradients put off: for all stages or one each")
      ->type_name("N,...")
      ->delimiter(',');
}

void add_time_options(CLI::App& app, schedule::TimeOptions& options) {
  app.add_option("--latency", options.latency, "One way, between edge and cloud")
      ->capture_default_str();
  app.add_option("--fs", options.fs, "Time of a head forward");
  app.add_option("--fe", options.fe, "Time of a tail forward with loss");
  app.add_option("--bs", options.bs, "Time of a tail backward");
  app.add_option("--be", options.be, "Time of a head backward");
  app.add_option("--f", options.f, "Time of a cloud stage's forward: for all or one each")
      ->type_name("TIME,...")
      ->delimiter(',');
  app.add_option("--b", options.b, "Time of a cloud stage's backward: for all or one each")
      ->type_name("TIME,...")
      ->delimiter(',');
  app.add_option("--weight-share", options.weight_share,
                 "Part of a backward that makes weights' gradients")
      ->capture_default_str();
  app.add_option("--transfer-up", options.transfer_up,
                 "Time that one microbatch's crossing keeps the link to the cloud busy");
  app.add_option("--transfer-down", options.transfer_down, "The same to the edge");
  app.add_option("--bytes", options.bytes, "Of one microbatch's crossing, with a bandwidth");
  app.add_option("--bandwidth-up", options.bandwidth_up, "To the cloud, bytes per unit of time");
  app.add_option("--bandwidth-down", options.bandwidth_down, "To the edge");
}

constexpr const char* kKinds = "gpipe, 1f1b, zb-h1, hairpin-1f1b or hairpin-adaptive";

void add_schedule_report(CLI::App& group, Command& chosen) {
  const auto [report, reported] =
      add_command(group, chosen, "report", "Show a step of a traced run beside its simulation",
                  &schedule_report);
  report->add_option("run", reported->run, "The run's output directory")->required();
  report->add_option("--step", reported->step, "Which step; default: the last one traced");
  report->add_flag("--json", reported->json, "Print JSON");
  report->add_option("--svg", reported->svg, "Draw both as FILE.svg or FILE.html");
  report->add_option("--trace", reported->trace, "Write both as a Chrome trace");
}

void add_schedule(CLI::App& root, Command& chosen) {
  auto& group = add_group(root, "schedule", "Look at pipeline schedules, of a run or without one");

  const auto [show, shown] =
      add_command(group, chosen, "show", "Print each rank's ops in order", &schedule_show);
  show->add_option("--kind", shown->kind, kKinds)->required();
  add_layout_options(*show, shown->generate);
  add_time_options(*show, shown->times);
  show->add_flag("--logical", shown->logical, "The logical stages, before the edge's two merge");
  show->add_flag("--json", shown->json, "Print JSON");

  const auto [simulate, simulated] = add_command(
      group, chosen, "simulate", "Print makespan, bubble and ops in flight", &schedule_simulate);
  simulate->add_option("--kind", simulated->kind, kKinds)->required();
  add_layout_options(*simulate, simulated->generate);
  add_time_options(*simulate, simulated->times);
  simulate->add_flag("--json", simulated->json, "Print JSON");
  simulate->add_option("--svg", simulated->svg, "Draw the step as FILE.svg or FILE.html");
  simulate->add_option("--trace", simulated->trace, "Write the step as a Chrome trace");

  const auto [compare, compared] =
      add_command(group, chosen, "compare", "Print all kinds side by side", &schedule_compare);
  add_layout_options(*compare, compared->generate);
  add_time_options(*compare, compared->times);
  compare->add_flag("--json", compared->json, "Print JSON");

  add_schedule_report(group, chosen);
}

void add_commands(CLI::App& root, Command& chosen) {
  add_training(root, chosen);
  add_model(root, chosen);
  add_keys(root, chosen);
  add_convert(root, chosen);
  add_audit(root, chosen);
  add_schedule(root, chosen);
}

int usage_error(const std::string& what, const std::string& command) {
  fmt::print(stderr, "hairpin: error: {}; see {} --help\n", what, command);
  return kUsageExitCode;
}

// The first word that should name a command and doesn't, with the nearest that does.
std::optional<int> unknown_command(CLI::App& root, int argc, char** argv) {
  CLI::App* app = &root;
  std::string path = "hairpin";
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> known;
    for (const auto* command : app->get_subcommands({})) known.push_back(command->get_name());
    if (known.empty()) return std::nullopt;
    if (std::find(known.begin(), known.end(), argv[i]) == known.end()) {
      const auto nearest = nearest_word(argv[i], known);
      const auto hint = nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "";
      fmt::print(stderr, "hairpin: error: {} {}: unknown command{} See {} --help\n", path, argv[i],
                 hint.empty() ? ";" : hint, path);
      return kUsageExitCode;
    }
    app = app->get_subcommand(argv[i]);
    path += " " + app->get_name();
  }
  return std::nullopt;
}

// The command that was being parsed, for "see ... --help".
std::string chosen_path(const CLI::App& root) {
  std::string path = "hairpin";
  for (auto chosen = root.get_subcommands(); !chosen.empty();
       chosen = chosen.front()->get_subcommands())
    path += " " + chosen.front()->get_name();
  return path;
}

int report(const Error& error) {
  fmt::print(stderr, "hairpin: error: {}\n", error.message);
  return static_cast<int>(error.kind);
}

int run(int argc, char** argv) {
  CLI::App root(
      "Fine-tunes a language model across two sites: samples, labels and loss stay at the edge,\n"
      "the middle layers are computed in the cloud.",
      "hairpin");
  root.set_version_flag("--version", "hairpin " HAIRPIN_VERSION);
  root.require_subcommand(1);
  Command chosen;
  add_commands(root, chosen);
  if (const auto code = unknown_command(root, argc, argv)) return *code;
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    return usage_error(error.what(), chosen_path(root));
  }
  const auto done = chosen();
  return done ? 0 : report(done.error());
}

}  // namespace
}  // namespace hairpin::apps

int main(int argc, char** argv) {
  hairpin::apps::prepare_process(argv);
  hairpin::install_memory_meter();  // while there is one thread
  try {
    return hairpin::apps::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hairpin: internal error: {}; this is a defect, please report it\n",
               error.what());
    return static_cast<int>(hairpin::ErrorKind::internal);
  }
}
