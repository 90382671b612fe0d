// Writes a whole Hugging Face directory that `transformers` loads.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "hairpin/safetensors/model_writer.h"

namespace hairpin::hf {

// `target` becomes a copy of `origin` (a whole model, or the edge's half: both hold config.json and
// the companion files) with `tensors` as its weights, sharded above `max_shard_bytes`. `tensors`
// are all of the model, in any order and dtype (checked). Atomic: `target` appears complete or not
// at all. Refused when `target` is in use; `key` is what the user named it with.
Result<void> export_model(const std::filesystem::path& target, std::string_view key,
                          const std::filesystem::path& origin,
                          std::vector<safetensors::Source> tensors,
                          std::uint64_t max_shard_bytes = safetensors::kMaxShardBytes);

}  // namespace hairpin::hf
