// Writes a model's weights into a directory: one file, or shards and their index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "hairpin/safetensors/writer.h"

namespace hairpin::safetensors {

inline constexpr std::uint64_t kMaxShardBytes = 5'000'000'000;  // Hugging Face's "5GB"

// A tensor to be written. `bytes` is called once, when its turn comes; the span it gives is used
// until the next call of any.
struct Source {
  TensorInfo info;
  std::function<Result<ByteSpan>()> bytes;
};

// Which tensors go together into a file: in the order given, a new file whenever the next tensor
// would take the present one over `max_shard_bytes` (a larger tensor has a file of its own).
std::vector<std::vector<Source>> plan_shards(std::vector<Source> tensors,
                                             std::uint64_t max_shard_bytes);

// Writes model.safetensors, or model-00001-of-0000N.safetensors ... and then the index. `directory`
// exists and holds no weights. Each file is atomic; the whole is only when the directory is a
// staged one (hf/staged_directory.h).
Result<void> write_model(const std::filesystem::path& directory, std::vector<Source> tensors,
                         std::uint64_t max_shard_bytes = kMaxShardBytes);

}  // namespace hairpin::safetensors
