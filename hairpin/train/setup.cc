#include "hairpin/train/setup.h"

#include "hairpin/arch/cut.h"
#include "hairpin/arch/divide.h"
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

// Decoder layers by logical stage.
std::vector<std::int64_t> layers_of(const config::Job& job, std::int64_t depth) {
  if (job.split) return job.split->layers;
  return job.site.pipeline.value_or(std::vector<std::int64_t>{depth});
}

Result<schedule::Schedule> make_schedule(const config::Job& job,
                                         const schedule::GenerateOptions& options) {
  auto made = schedule::generate(job.schedule.kind, options);
  if (!made && job.schedule.max_in_flight) {
    auto uncapped = options;
    uncapped.in_flight_cap.clear();
    if (schedule::generate(job.schedule.kind, uncapped))
      return bad_input(
          "{}: [schedule] max_in_flight = {}: kind = \"{}\" holds more ({}); raise it or use a "
          "kind "
          "that keeps within it, hairpin-adaptive",
          job.file.string(), *job.schedule.max_in_flight, job.schedule.kind, made.error().message);
  }
  if (!made) return bad_input("{}: [schedule] {}", job.file.string(), made.error().message);
  HAIRPIN_CHECK_OK(schedule::check(*made));
  return made;
}

// Both sites' sizes, at either: the architecture is the same.
Result<void> check_sizes(const config::Job& job, const arch::Architecture& architecture) {
  const auto check = [&](const config::Site& site, const char* table) -> Result<void> {
    return arch::check_tensor_parallel(
        architecture, site.tensor_parallel,
        fmt::format("{}: {}.tensor_parallel", job.file.string(), table));
  };
  if (!job.split) return check(job.site, "site");
  HAIRPIN_CHECK_OK(check(job.edge, "edge"));
  return check(job.cloud, "cloud");
}

wire::Codec codec_of(std::string_view word) {
  using enum wire::Codec;
  for (const auto codec : {fp32, bf16, int8, int4})
    if (word == wire::codec_name(codec)) return codec;
  HAIRPIN_CHECK(false, "codec {}", word);
}

}  // namespace

std::string_view part_name(Part part) {
  return part == Part::whole ? "site" : part == Part::edge ? "edge" : "cloud";
}

mesh::Mesh Setup::mesh() const {
  const int pp = part == Part::whole ? schedule.pp() : part == Part::edge ? 1 : schedule.pp() - 1;
  return mesh::Mesh({.pp = pp,
                     .dp = static_cast<int>(site().data_parallel),
                     .cp = 1,
                     .tp = static_cast<int>(site().tensor_parallel)});
}

int Setup::schedule_rank(const mesh::Coordinate& at) const {
  if (part == Part::edge) return at.dp;
  if (part == Part::whole) return at.dp * schedule.pp() + at.pp;
  return schedule.edge_ranks + at.dp * (schedule.pp() - 1) + at.pp;
}

std::string Setup::rank_name(const mesh::Coordinate& at) const {
  return fmt::format("{} rank {}", part_name(part), mesh::coordinate_text(at));
}

codec::Choice Setup::codecs() const {
  const auto& link = job.link;
  const auto own_or_all = [&](const std::optional<std::string>& own) {
    return codec_of(own.value_or(link.codec));
  };
  return {.activation_up = own_or_all(link.codec_activation_up),
          .gradient_up = own_or_all(link.codec_gradient_up),
          .activation_down = own_or_all(link.codec_activation_down),
          .gradient_down = own_or_all(link.codec_gradient_down)};
}

schedule::GenerateOptions Setup::schedule_options() const {
  const auto num_stages = static_cast<int>(stages.size());
  schedule::GenerateOptions options;
  options.microbatches = static_cast<int>(job.train.microbatches);
  options.pp = job.split ? num_stages - 1 : num_stages;
  options.shape = job.split ? schedule::Shape::hairpin : schedule::Shape::line;
  options.domains = static_cast<int>((job.split ? job.cloud : job.site).data_parallel);
  options.edges = job.split ? static_cast<int>(job.edge.data_parallel) : 1;
  options.split_backward = job.schedule.split_backward;
  if (const auto cap = job.schedule.max_in_flight) options.in_flight_cap = {static_cast<int>(*cap)};
  return options;
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
  const auto layers = layers_of(job, architecture.num_hidden_layers);
  const auto place = arch::place(layers, architecture.num_hidden_layers);
  if (!place)
    return bad_input("{}: {} {}", job.file.string(),
                     job.split ? "[split]" : "[site] pipeline:", place.error().message);
  setup.stages = *place;
  setup.num_segments = setup.stages.back().end;
  HAIRPIN_CHECK_OK(check_sizes(job, architecture));
  HAIRPIN_TRY(setup.schedule, make_schedule(job, setup.schedule_options()));
  if (job.data.sequence_length > architecture.max_position_embeddings)
    return bad_input(
        "{}: data.sequence_length = {}: more than the model's max_position_embeddings {}; lower it",
        job.file.string(), job.data.sequence_length, architecture.max_position_embeddings);
  HAIRPIN_CHECK_OK(check_output_directory(setup.output_directory(), "output.directory"));
  return setup;
}

}  // namespace hairpin::train
