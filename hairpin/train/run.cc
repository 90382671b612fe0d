#include "hairpin/train/run.h"

#include <algorithm>

#include "hairpin/base/log.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/hf/export.h"
#include "hairpin/link/handshake.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/schedule/after_run.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/train/agreement.h"
#include "hairpin/train/job_contract.h"
#include "hairpin/train/link_trace.h"
#include "hairpin/train/run_directory.h"
#include "hairpin/train/site.h"
#include "hairpin/train/site_groups.h"
#include "hairpin/train/weights_exchange.h"
#include "hairpin/train/whole_model.h"

namespace hairpin::train {
namespace {

constexpr const char* kExportKey = "output.directory";

std::size_t num_ranks(const Setup& setup) {
  return static_cast<std::size_t>(setup.mesh().num_ranks());
}

// Tensors of both kinds, of every microbatch that can be in flight at the edge. Of an order that
// may be chosen anew only the cap is known, or that a step has no more microbatches.
std::size_t max_waiting(const Setup& setup) {
  const auto& schedule = setup.schedule;
  std::int64_t held = 0;
  const auto peak = schedule::peak_in_flight(schedule);
  for (int rank = 0; rank < schedule.edge_ranks; ++rank)
    held += peak.rank[static_cast<std::size_t>(rank)];
  if (schedule.kind == "hairpin-adaptive") {
    held = setup.microbatches_per_step();
    if (const auto cap = setup.job.schedule.max_in_flight)
      held = std::min(held, *cap * schedule.edge_ranks);
  }
  return 2 * static_cast<std::size_t>(held);
}

// What the peer may send: boundary 0 and the last one are the cuts.
pipeline::SessionOptions session_options(const Setup& setup, MemoryMeter& meter) {
  const int last = setup.schedule.num_stages() - 2;
  const bool edge = setup.part == Part::edge;
  pipeline::SessionOptions options;
  options.meter = &meter;
  options.role = edge ? wire::Role::edge : wire::Role::cloud;
  options.codecs = setup.codecs();
  options.expected = {{wire::TensorKind::activation, edge ? last : 0},
                      {wire::TensorKind::gradient, edge ? 0 : last}};
  options.domains = setup.schedule.domains;
  options.microbatches = setup.schedule.microbatches;
  options.hidden = setup.model.architecture.hidden_size;
  options.max_tokens = setup.max_tokens();
  options.tensor_parallel = static_cast<int>(setup.site().tensor_parallel);
  options.sequence_parallel = setup.site().sequence_parallel;
  options.max_waiting = max_waiting(setup);
  return options;
}

// "cloud 1's time ... went ...; a step takes 391 ms by simulation, 402 in the order so far (-2.7
// %)"
std::string agreed_text(const schedule::Agreed& agreed) {
  using schedule::milliseconds_text;
  if (agreed.taken_back)
    return fmt::format("{}, {} ms against {}; that order is in use again", agreed.reason,
                       milliseconds_text(agreed.step_before), milliseconds_text(agreed.step));
  if (agreed.same_order)
    return fmt::format("{}; no order is shorter than the one in use, {} ms a step by simulation",
                       agreed.reason, milliseconds_text(agreed.step));
  return fmt::format(
      "{}; a step takes {} ms by simulation, {} in the order so far ({:.1f} %), with up to {} "
      "microbatches in flight on a stage",
      agreed.reason, milliseconds_text(agreed.step), milliseconds_text(agreed.step_before),
      100.0 * (agreed.step / agreed.step_before - 1.0),
      std::ranges::max(schedule::peak_in_flight(*agreed.schedule).stage));
}

// A split site's run between its handshake and its end. On any failure the peer is told.
class SplitRun {
 public:
  SplitRun(const Setup& setup, link::Link& link, const RunOptions& options)
      : setup_(setup), link_(link), options_(options), meters_(num_ranks(setup)) {}

  Result<void> begin() {
    HAIRPIN_TRY(const auto identity, hf::identity(setup_.model));
    const auto role = setup_.part == Part::edge ? wire::Role::edge : wire::Role::cloud;
    // Before the peer can know that we agree: its next frame may be as long as the job allows.
    link_.set_max_frame_bytes(max_frame_bytes(setup_));
    HAIRPIN_CHECK_OK(link::handshake(link_, role, job_contract(setup_, identity)));
    log::info("the {} is connected and the jobs agree",
              role == wire::Role::edge ? "cloud" : "edge");
    HAIRPIN_TRY(directory_, RunDirectory::create(setup_, options_.progress));
    link_trace_.emplace(link_, directory_.trace(), setup_.schedule,
                        SiteGroups::num_trace_threads(setup_.mesh()));
    session_.emplace(link_, mailbox_, session_options(setup_, meters_.front()));
    return {};
  }

  Result<void> train(StepSource* source) {
    agreement_.emplace(
        setup_, *session_,
        [this](std::int64_t from, const schedule::Agreed& agreed) { return note(from, agreed); });
    site_.emplace(setup_, source, mailbox_, &*session_, &*agreement_, meters_, directory_.trace());
    const auto trained =
        site_->run([&](const metrics::StepRecord& record) { return directory_.record(record); });
    link_trace_.reset();
    HAIRPIN_CHECK_OK(trained);
    trained_ = true;
    HAIRPIN_CHECK_OK(directory_.finish());
    if (options_.progress) log_advice();
    return {};
  }

  // The edge's goodbye, and the cloud's answer to it.
  Result<void> end() {
    HAIRPIN_CHECK_OK(session_->send(wire::Goodbye{}));
    HAIRPIN_TRY(const auto last, session_->next_control());
    if (!std::holds_alternative<wire::Goodbye>(last))
      return fail(ErrorKind::peer, "the cloud sent a {} message where its goodbye is due",
                  wire::message_name(last));
    return session_->flush();
  }
  Result<void> answer_goodbye() {
    HAIRPIN_CHECK_OK(session_->send(wire::Goodbye{}));
    return session_->flush();
  }

  // Tells the peer about a failure that only this side knows of, and this side's user what is left.
  Result<void> finish(Result<void> outcome) {
    if (outcome) return outcome;
    if (session_) {
      session_->fail(outcome.error());
    } else {
      link_.fail(outcome.error());
    }
    if (session_ && outcome.error().kind == ErrorKind::link_lost)
      outcome.error().message += std::string("; ") + what_is_left();
    return outcome;
  }

  pipeline::LinkSession& session() { return *session_; }
  RunDirectory& directory() { return directory_; }
  Site& site() { return *site_; }

 private:
  void log_advice() const {
    const auto line = schedule::after_run_line(agreement_->record());
    if (!line) log::warning("no advice: {}", line.error().message);
    if (line && !line->empty()) log::info("in the end: {}", *line);
  }

  // All ranks wait meanwhile: nothing else writes to the directory.
  Result<void> note(std::int64_t from_step, const schedule::Agreed& agreed) {
    if (options_.progress) log::info("from step {} on: {}", from_step + 1, agreed_text(agreed));
    schedule::Record record{.from_step = from_step + 1,
                            .reason = agreed.reason,
                            .schedule = *agreed.schedule,
                            .times = agreed.times,
                            .in_flight_cap = setup_.schedule_options().in_flight_cap};
    if (!agreed.taken_back) {
      record.step_before = agreed.step_before;
      record.step_predicted = agreed.step;
    }
    return directory_.record(record);
  }

  const char* what_is_left() const {
    if (std::filesystem::exists(directory_.export_directory()))
      return "the export was written before that and is whole";
    if (setup_.part == Part::cloud && trained_)
      return "all steps were done: whether the export is, the edge knows";
    return "nothing of this run is committed: start both sites again with a new output.directory";
  }

  const Setup& setup_;
  link::Link& link_;
  const RunOptions options_;
  std::vector<MemoryMeter> meters_;  // by rank of this site
  pipeline::Mailbox mailbox_;
  RunDirectory directory_;
  std::optional<LinkTrace> link_trace_;  // from before the session receives anything
  std::optional<pipeline::LinkSession> session_;
  std::optional<Agreement> agreement_;
  std::optional<Site> site_;
  bool trained_ = false;
};

// What throws here is a defect or the machine's end; the peer is still told that the run is over.
template <class Body>
Result<void> guarded(Body body) {
  try {
    return body();
  } catch (const std::exception& failure) {
    return fail(ErrorKind::internal, "{}", failure.what());
  }
}

std::unique_ptr<SampleSteps> sample_steps(const Setup& setup, const samples::Dataset& dataset,
                                          pipeline::LinkSession* session) {
  if (setup.job.train.steps == 0) return nullptr;
  return std::make_unique<SampleSteps>(setup, dataset, session);
}

Result<void> edge_steps(const Setup& setup, const samples::Dataset& dataset, SplitRun& run,
                        EgressRecorder* egress) {
  HAIRPIN_CHECK_OK(run.begin());
  if (egress != nullptr) HAIRPIN_CHECK_OK(egress->open(run.directory().path() / "egress.jsonl"));
  const auto source = sample_steps(setup, dataset, &run.session());
  HAIRPIN_CHECK_OK(run.train(source.get()));
  auto sources = checkpoint::all_weight_sources(run.site().parts(), setup.model);
  log::info("fetching the cloud's trained layers");
  HAIRPIN_TRY(auto trained, request_weights(setup, run.session()));
  std::move(trained.begin(), trained.end(), std::back_inserter(sources));
  HAIRPIN_CHECK_OK(hf::export_model(run.directory().export_directory(), kExportKey,
                                    setup.model.files.directory(), std::move(sources)));
  HAIRPIN_CHECK_OK(run.end());
  log::info("exported to {}", run.directory().export_directory().string());
  return {};
}

Result<void> cloud_steps(const Setup& setup, SplitRun& run) {
  HAIRPIN_CHECK_OK(run.begin());
  ManifestSteps source(setup, run.session());
  HAIRPIN_CHECK_OK(run.train(&source));
  HAIRPIN_CHECK_OK(serve_weights(setup, run.session(), run.site().parts()));
  HAIRPIN_CHECK_OK(run.answer_goodbye());
  log::info("the edge has all trained weights; the run is done");
  return {};
}

}  // namespace

Result<samples::Dataset> load_samples(const Setup& setup) {
  const auto& data = setup.job.data;
  if (setup.job.train.steps == 0) return samples::Dataset{};
  HAIRPIN_TRY(const auto tokenizer,
              load_tokenizer(setup.model.files.directory(), setup.model.architecture));
  using Long = samples::LoadOptions::Long;
  const samples::LoadOptions options{
      .sequence_length = data.sequence_length,
      .skip_bad = data.on_bad_sample == config::OnBad::skip,
      .on_long = data.on_long_sample == config::OnLong::fail   ? Long::fail
                 : data.on_long_sample == config::OnLong::skip ? Long::skip
                                                               : Long::truncate};
  HAIRPIN_TRY(auto dataset, samples::load_chat_jsonl(data.train, tokenizer, options));
  const auto& report = dataset.report;
  log::info("{}: {} samples, {} tokens, {} of them trained on; {} bad, {} too long",
            data.train.string(), report.samples, report.tokens, report.trained_tokens, report.bad,
            report.too_long);
  return dataset;
}

Result<void> train_whole(const Setup& setup, const samples::Dataset& dataset,
                         const RunOptions& options) {
  HAIRPIN_TRY(auto directory, RunDirectory::create(setup, options.progress));
  const auto source = sample_steps(setup, dataset, nullptr);
  pipeline::Mailbox mailbox;
  std::vector<MemoryMeter> meters(num_ranks(setup));
  Site site(setup, source.get(), mailbox, nullptr, nullptr, meters, directory.trace());
  HAIRPIN_CHECK_OK(
      site.run([&](const metrics::StepRecord& record) { return directory.record(record); }));
  HAIRPIN_CHECK_OK(directory.finish());
  HAIRPIN_CHECK_OK(hf::export_model(directory.export_directory(), kExportKey,
                                    setup.model.files.directory(),
                                    checkpoint::all_weight_sources(site.parts(), setup.model)));
  log::info("exported to {}", directory.export_directory().string());
  return {};
}

Result<void> train_edge(const Setup& setup, const samples::Dataset& dataset, link::Link& link,
                        EgressRecorder* egress, const RunOptions& options) {
  SplitRun run(setup, link, options);
  return run.finish(guarded([&] { return edge_steps(setup, dataset, run, egress); }));
}

Result<void> train_cloud(const Setup& setup, link::Link& link, const RunOptions& options) {
  SplitRun run(setup, link, options);
  return run.finish(guarded([&] { return cloud_steps(setup, run); }));
}

}  // namespace hairpin::train
