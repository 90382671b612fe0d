#include "hairpin/hf/model_directory.h"

#include <fmt/ranges.h>

#include <set>

#include "hairpin/base/check.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;

// "x" or "x and 7 more", for lists that may be long.
std::string first_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? fmt::format("\"{}\"", names[0])
                           : fmt::format("\"{}\" and {} more", names[0], names.size() - 1);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<void> check_tensor(const safetensors::Tensor& tensor, const arch::TensorSpec& spec,
                          const fs::path& directory) {
  const auto file = (directory / tensor.file).string();
  if (tensor.info.shape != spec.shape)
    return bad_input("{}: tensor \"{}\" has the shape {}, but config.json says {}", file, spec.name,
                     shape_text(tensor.info.shape), shape_text(spec.shape));
  const auto dtype = tensor.info.dtype;
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16)
    return bad_input("{}: tensor \"{}\" is {}; supported are F32, BF16 and F16", file, spec.name,
                     dtype_name(dtype));
  return {};
}

// Exactly the tensors in `specs`, no more and no less.
Result<void> check_tensors(const safetensors::ModelFiles& files,
                           const std::vector<arch::TensorSpec>& specs) {
  std::vector<std::string> missing, surplus;
  std::set<std::string_view> wanted;
  for (const auto& spec : specs) {
    wanted.insert(spec.name);
    const auto* tensor = files.find(spec.name);
    if (tensor)
      HAIRPIN_CHECK_OK(check_tensor(*tensor, spec, files.directory()));
    else
      missing.push_back(spec.name);
  }
  for (const auto& [name, tensor] : files.tensors())
    if (!wanted.contains(name)) surplus.push_back(name);
  if (!missing.empty())
    return bad_input("{}: the weights lack the tensor {}, which config.json asks for",
                     files.directory().string(), first_of(missing));
  if (!surplus.empty())
    return bad_input(
        "{}: the weights hold the tensor {}, which has no place in config.json's model{}",
        files.directory().string(), first_of(surplus),
        surplus[0] == "lm_head.weight" ? " (tie_word_embeddings is true)" : "");
  return {};
}

// Everything but whether its tensors are the wanted ones.
Result<ModelDirectory> open(const fs::path& directory) {
  ModelDirectory model;
  HAIRPIN_TRY(model.architecture, arch::read_architecture(directory));
  HAIRPIN_TRY(model.config, config_digest(directory));
  HAIRPIN_TRY(model.split, read_split_record(directory));
  HAIRPIN_TRY(model.files, safetensors::open_model(directory));
  if (model.split && model.split->source.config != model.config)
    return bad_input("{}: config.json is not the one the model was split with; split it again",
                     directory.string());
  return model;
}

Result<void> check_half(const SplitRecord& record, const fs::path& directory, Half site,
                        const std::vector<std::int64_t>& layers) {
  if (record.half != site)
    return bad_input(
        "{}: is the {}'s half of a split model, but this is the {}; give the {}'s half or the "
        "whole model",
        directory.string(), half_name(record.half), half_name(site), half_name(site));
  if (!same_cuts(record.layers, layers))
    return bad_input(
        "{}: was split at layers = [{}], but the job says layers = [{}]; split the model again or "
        "change the job",
        directory.string(), fmt::join(record.layers, ", "), fmt::join(layers, ", "));
  return {};
}

}  // namespace

std::vector<arch::TensorSpec> tensors_of(const arch::Architecture& architecture,
                                         std::optional<Half> half,
                                         const std::vector<std::int64_t>& layers) {
  const auto segments = arch::segments(architecture);
  const auto count = static_cast<std::int64_t>(segments.size());
  std::int64_t body_begin = 0, body_end = count;
  if (half) {
    const auto ranges = arch::place(layers, architecture.num_hidden_layers);
    HAIRPIN_CHECK(ranges && layers.size() >= 3, "not the placement of a split");
    body_begin = ranges->front().end;
    body_end = ranges->back().begin;
  }
  std::vector<arch::TensorSpec> specs;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool in_body = i >= body_begin && i < body_end;
    if (in_body == (half != Half::edge))
      specs.insert(specs.end(), segments[i].tensors.begin(), segments[i].tensors.end());
  }
  return specs;
}

Result<ModelDirectory> open_whole(const fs::path& directory) {
  HAIRPIN_TRY(auto model, open(directory));
  if (model.split)
    return bad_input(
        "{}: is the {}'s half of a split model; give a whole one, or join the halves with hairpin "
        "convert merge",
        directory.string(), half_name(model.split->half));
  HAIRPIN_CHECK_OK(check_tensors(model.files, tensors_of(model.architecture)));
  return model;
}

Result<ModelDirectory> open_for(const fs::path& directory, Half site,
                                const std::vector<std::int64_t>& layers) {
  HAIRPIN_CHECK(layers.size() >= 3, "a split of {} stages", layers.size());
  HAIRPIN_TRY(auto model, open(directory));
  HAIRPIN_CHECK_OK(arch::place(layers, model.architecture.num_hidden_layers));
  if (!model.split) {
    HAIRPIN_CHECK_OK(check_tensors(model.files, tensors_of(model.architecture)));
    return model;
  }
  HAIRPIN_CHECK_OK(check_half(*model.split, directory, site, layers));
  HAIRPIN_CHECK_OK(check_tensors(model.files, tensors_of(model.architecture, site, layers)));
  return model;
}

Result<Identity> identity(const ModelDirectory& model) {
  const auto weights = weights_digest(model.files.tensors());
  if (!model.split) return Identity{model.config, weights};
  if (weights != model.split->weights)
    return bad_input(
        "{}: the weights are not those that were split off (SHA-256 {}, recorded {}); split the "
        "model again",
        model.files.directory().string(), to_hex(weights), to_hex(model.split->weights));
  return model.split->source;
}

}  // namespace hairpin::hf
