#include "hairpin/train/setup.h"

#include "hairpin/arch/cut.h"
#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::train {
namespace {

// Before the weights are opened, whose errors don't name the job.
Result<void> check_depth(const config::Job& job, const std::filesystem::path& directory) {
  HAIRPIN_TRY(const auto architecture, arch::read_architecture(directory));
  if (auto placed = arch::place(job.split->layers, architecture.num_hidden_layers); !placed)
    return bad_input("{}: [split] {}", job.file.string(), placed.error().message);
  return {};
}

Result<hf::ModelDirectory> open_model(const config::Job& job, Part part) {
  if (part == Part::whole) return hf::open_whole(job.site.model.value_or(job.model.path));
  const bool edge = part == Part::edge;
  const auto directory = (edge ? job.edge : job.cloud).model.value_or(job.model.path);
  HAIRPIN_CHECK_OK(check_depth(job, directory));
  return hf::open_for(directory, edge ? hf::Half::edge : hf::Half::cloud, job.split->layers);
}

Result<schedule::Schedule> make_schedule(const config::Job& job) {
  schedule::GenerateOptions options;
  options.microbatches = static_cast<int>(job.train.microbatches);
  options.pp = job.split ? static_cast<int>(job.split->layers.size()) - 1 : 1;
  options.shape = job.split ? schedule::Shape::hairpin : schedule::Shape::line;
  HAIRPIN_TRY(auto made, schedule::generate(job.schedule.kind, options));
  HAIRPIN_CHECK_OK(schedule::check(made));
  return made;
}

}  // namespace

std::vector<int> Setup::local_ranks() const {
  if (part != Part::cloud) return {0};
  std::vector<int> ranks;
  for (int rank = 1; rank < schedule.num_ranks(); ++rank) ranks.push_back(rank);
  return ranks;
}

wire::Codec Setup::codec() const {
  return job.link.codec == "bf16" ? wire::Codec::bf16 : wire::Codec::fp32;
}

int Setup::threads() const { return static_cast<int>(site().threads); }

const config::Site& Setup::site() const {
  return part == Part::whole ? job.site : part == Part::edge ? job.edge : job.cloud;
}

std::filesystem::path Setup::output_directory() const {
  const auto& directory = job.output.directory;
  return part == Part::whole ? directory : directory / (part == Part::edge ? "edge" : "cloud");
}

Result<Setup> prepare(const config::Job& job, Part part) {
  HAIRPIN_CHECK(job.split.has_value() == (part != Part::whole), "part and job disagree");
  Setup setup;
  setup.part = part;
  setup.job = job;
  if (job.split)
    HAIRPIN_CHECK_OK(arch::check_cuts(job.split->layers, job.split->allow_plaintext_cut));
  HAIRPIN_TRY(setup.model, open_model(job, part));
  const auto& architecture = setup.model.architecture;
  const auto depth = architecture.num_hidden_layers;
  HAIRPIN_TRY(setup.stages,
              arch::place(job.split ? job.split->layers : std::vector<std::int64_t>{depth}, depth));
  setup.num_segments = setup.stages.back().end;
  HAIRPIN_TRY(setup.schedule, make_schedule(job));
  if (job.data.sequence_length > architecture.max_position_embeddings)
    return bad_input(
        "{}: data.sequence_length = {}: more than the model's max_position_embeddings {}; lower it",
        job.file.string(), job.data.sequence_length, architecture.max_position_embeddings);
  HAIRPIN_CHECK_OK(check_output_directory(setup.output_directory(), "output.directory"));
  return setup;
}

}  // namespace hairpin::train
