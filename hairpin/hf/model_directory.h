// A Hugging Face directory, whole or one half of a split, opened and proved complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "hairpin/arch/architecture.h"
#include "hairpin/hf/split_record.h"
#include "hairpin/safetensors/model_files.h"

namespace hairpin::hf {

// Immutable; any number of threads may read. Tensors are found in `files` by Hugging Face's names;
// their dtype is F32, BF16 or F16 and need not be the same for all.
struct ModelDirectory {
  arch::Architecture architecture;
  safetensors::ModelFiles files;
  Digest config{};                   // SHA-256 of config.json
  std::optional<SplitRecord> split;  // set: this is a half
};

// The tensors of a whole model, or of one half of it, in model order. `layers` is a valid placement
// (arch::place) with at least three entries; it is ignored when `half` is not given.
std::vector<arch::TensorSpec> tensors_of(const arch::Architecture& architecture,
                                         std::optional<Half> half = std::nullopt,
                                         const std::vector<std::int64_t>& layers = {});

// Opens a directory for use as a whole (one-site training, evaluation, splitting). Refused: what
// config.json or the weights files are refused for, a half, missing or surplus tensors, other
// shapes than config.json's, other dtypes. Costs no reading of the weights.
Result<ModelDirectory> open_whole(const std::filesystem::path& directory);

// Opens a directory for one site of a split at `layers`: the whole model, or this site's half.
// Refused beside the above: a placement that doesn't fit the model, the other site's half, a half
// made for other cuts (both lists are named) or with another config.json.
Result<ModelDirectory> open_for(const std::filesystem::path& directory, Half site,
                                const std::vector<std::int64_t>& layers);

// The identity of the whole model, for the contract. Reads all weights of the directory: a whole
// model's digest is computed; a half's own digest is verified before its source's is believed.
Result<Identity> identity(const ModelDirectory& model);

}  // namespace hairpin::hf
