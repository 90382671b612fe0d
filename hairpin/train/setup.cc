#include "hairpin/train/setup.h"

#include "hairpin/arch/cut.h"
#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::train {
namespace {

// Names the job where an error speaks of its list of layers only.
template <class T>
Result<T> in_split(const config::Job& job, Result<T> result) {
  if (result) return result;
  return fail(result.error().kind, "{}: [split] {}", job.file.string(), result.error().message);
}

Result<hf::ModelDirectory> open_model(const config::Job& job, Part part) {
  if (part == Part::whole) return hf::open_whole(job.site.model.value_or(job.model.path));
  const bool edge = part == Part::edge;
  const auto directory = (edge ? job.edge : job.cloud).model.value_or(job.model.path);
  const auto& layers = job.split->layers;
  HAIRPIN_CHECK_OK(in_split(job, arch::check_cuts(layers, job.split->allow_plaintext_cut)));
  // Before the weights are opened, which may not be there for other cuts.
  HAIRPIN_TRY(const auto architecture, arch::read_architecture(directory));
  HAIRPIN_CHECK_OK(in_split(job, arch::place(layers, architecture.num_hidden_layers)));
  return hf::open_for(directory, edge ? hf::Half::edge : hf::Half::cloud, layers);
}

Result<schedule::Schedule> make_schedule(const config::Job& job) {
  schedule::GenerateOptions options;
  options.microbatches = static_cast<int>(job.train.microbatches);
  options.pp = job.split ? static_cast<int>(job.split->layers.size()) - 1 : 1;
  options.shape = job.split ? schedule::Shape::hairpin : schedule::Shape::line;
  auto made = schedule::generate(job.schedule.kind, options);
  if (!made) return bad_input("{}: [schedule] {}", job.file.string(), made.error().message);
  HAIRPIN_CHECK_OK(schedule::check(*made));
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
  for (const auto codec : {wire::Codec::fp32, wire::Codec::bf16})
    if (job.link.codec == wire::codec_name(codec)) return codec;
  HAIRPIN_CHECK(false, "codec {}", job.link.codec);
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
