// `hairpin convert split` and `hairpin convert merge`: a model cut into what each site may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::hf {

struct SplitOptions {
  std::filesystem::path source;      // a whole Hugging Face directory
  std::vector<std::int64_t> layers;  // edge head, cloud ..., edge tail
  std::filesystem::path edge;        // gets embedding, head, tail, norm, output head, tokenizer
  std::filesystem::path cloud;       // gets config.json and the middle layers, nothing else
  bool allow_plaintext_cut = false;  // see arch/cut.h
  std::uint64_t max_shard_bytes = safetensors::kMaxShardBytes;
};

// Bytes and dtypes are kept. Both directories are new or empty and appear complete or not at all;
// each records cuts and digests in hairpin_split.json. Reads all weights.
Result<void> split(const SplitOptions& options);

// The inverse: the source again, tensor for tensor. Refused when the two don't belong together
// (other cuts, other source) or when weights were changed since.
Result<void> merge(const std::filesystem::path& edge, const std::filesystem::path& cloud,
                   const std::filesystem::path& target,
                   std::uint64_t max_shard_bytes = safetensors::kMaxShardBytes);

}  // namespace hairpin::hf
