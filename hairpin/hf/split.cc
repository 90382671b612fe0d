#include "hairpin/hf/split.h"

#include <fmt/ranges.h>

#include "hairpin/arch/cut.h"
#include "hairpin/base/file.h"
#include "hairpin/hf/companions.h"
#include "hairpin/hf/export.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/hf/staged_directory.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;
using safetensors::ModelFiles;

std::vector<safetensors::Source> sources_of(const ModelFiles::Map& tensors,
                                            const std::vector<arch::TensorSpec>& specs) {
  std::vector<safetensors::Source> sources;
  for (const auto& spec : specs) {
    const auto& tensor = tensors.at(spec.name);
    sources.push_back(
        {tensor.info, [bytes = tensor.bytes]() -> Result<ByteSpan> { return bytes; }});
  }
  return sources;
}

Result<void> write_half(const ModelDirectory& model, const Identity& source, Half half,
                        const SplitOptions& options, const fs::path& directory) {
  const auto specs = tensors_of(model.architecture, half, options.layers);
  ModelFiles::Map tensors;
  for (const auto& spec : specs) tensors[spec.name] = *model.files.find(spec.name);
  HAIRPIN_CHECK_OK(copy_bytes(options.source / "config.json", directory / "config.json"));
  if (half == Half::edge)
    for (const auto& name : companion_files(options.source))
      HAIRPIN_CHECK_OK(copy_bytes(options.source / name, directory / name));
  HAIRPIN_CHECK_OK(
      safetensors::write_model(directory, sources_of(tensors, specs), options.max_shard_bytes));
  const auto record = encode({half, options.layers, source, weights_digest(tensors)});
  return write_file_atomic(directory / kSplitFile, as_byte_span(record));
}

// The second rename can fail after the first; then the first is taken back.
Result<void> commit_both(StagedDirectory& first, StagedDirectory& second) {
  HAIRPIN_CHECK_OK(first.commit());
  auto done = second.commit();
  std::error_code ignored;
  if (!done) fs::remove_all(first.target(), ignored);
  return done;
}

Result<ModelDirectory> open_half(const fs::path& directory, Half half) {
  HAIRPIN_TRY(const auto record, read_split_record(directory));
  if (!record)
    return bad_input("{}: has no {}; give the {} directory that hairpin convert split wrote",
                     directory.string(), kSplitFile, half_name(half));
  return open_for(directory, half, record->layers);
}

Result<void> check_pair(const ModelDirectory& edge, const ModelDirectory& cloud) {
  const auto& ours = *edge.split;
  const auto& theirs = *cloud.split;
  const auto edge_name = edge.files.directory().string();
  const auto cloud_name = cloud.files.directory().string();
  if (!same_cuts(ours.layers, theirs.layers))
    return bad_input(
        "{} was split at layers = [{}], but {} at layers = [{}]; give halves of one split",
        edge_name, fmt::join(ours.layers, ", "), cloud_name, fmt::join(theirs.layers, ", "));
  if (ours.source != theirs.source)
    return bad_input(
        "{} and {} are halves of different models (weights SHA-256 {} and {}); give halves of one "
        "split",
        edge_name, cloud_name, to_hex(ours.source.weights), to_hex(theirs.source.weights));
  return {};
}

// Whether `path` is `directory` or below it.
bool lies_in(const fs::path& path, const fs::path& directory) {
  const auto relative = fs::absolute(path).lexically_normal().lexically_relative(
      fs::absolute(directory).lexically_normal());
  return relative.empty() || *relative.begin() != "..";
}

}  // namespace

Result<void> split(const SplitOptions& options) {
  HAIRPIN_CHECK_OK(arch::check_cuts(options.layers, options.allow_plaintext_cut));
  HAIRPIN_TRY(const auto model, open_whole(options.source));
  HAIRPIN_CHECK_OK(arch::place(options.layers, model.architecture.num_hidden_layers));
  if (lies_in(options.edge, options.cloud) || lies_in(options.cloud, options.edge))
    return bad_input(
        "--edge \"{}\" and --cloud \"{}\" lie in one another; each site needs a directory of its "
        "own",
        options.edge.string(), options.cloud.string());
  HAIRPIN_TRY(auto edge, StagedDirectory::create(options.edge, "--edge"));
  HAIRPIN_TRY(auto cloud, StagedDirectory::create(options.cloud, "--cloud"));
  HAIRPIN_TRY(const auto source, identity(model));
  HAIRPIN_CHECK_OK(write_half(model, source, Half::edge, options, edge.path()));
  HAIRPIN_CHECK_OK(write_half(model, source, Half::cloud, options, cloud.path()));
  return commit_both(edge, cloud);
}

Result<void> merge(const fs::path& edge_directory, const fs::path& cloud_directory,
                   const fs::path& target, std::uint64_t max_shard_bytes) {
  HAIRPIN_TRY(const auto edge, open_half(edge_directory, Half::edge));
  HAIRPIN_TRY(const auto cloud, open_half(cloud_directory, Half::cloud));
  HAIRPIN_CHECK_OK(check_pair(edge, cloud));
  HAIRPIN_CHECK_OK(identity(edge));  // neither half was changed
  HAIRPIN_CHECK_OK(identity(cloud));
  auto tensors = edge.files.tensors();
  tensors.insert(cloud.files.tensors().begin(), cloud.files.tensors().end());
  if (weights_digest(tensors) != edge.split->source.weights)
    return bad_input("{} and {} together are not the model they were split from; split it again",
                     edge_directory.string(), cloud_directory.string());
  return export_model(target, "--output", edge_directory,
                      sources_of(tensors, tensors_of(edge.architecture)), max_shard_bytes);
}

}  // namespace hairpin::hf
