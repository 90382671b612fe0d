// The weights of a Hugging Face directory: model.safetensors, or shards with
// model.safetensors.index.json, as one map from tensor name to bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/safetensors/reader.h"

namespace hairpin::safetensors {

inline constexpr std::string_view kSingleFile = "model.safetensors";
inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";

// A tensor of an opened directory. `bytes` live as long as the ModelFiles it comes from or a copy
// of that; see reader.h on alignment.
struct Tensor {
  TensorInfo info;
  ByteSpan bytes;
  std::string file;  // plain name of the file it lies in
};

// Immutable once open; any number of threads may read.
class ModelFiles {
 public:
  using Map = std::map<std::string, Tensor, std::less<>>;

  // By name. Each tensor occurs in exactly one file.
  const Map& tensors() const { return tensors_; }
  const Tensor* find(std::string_view name) const;  // null: not in this model
  const std::filesystem::path& directory() const { return directory_; }

 private:
  friend Result<ModelFiles> open_model(const std::filesystem::path& directory);
  std::filesystem::path directory_;
  std::vector<Reader> readers_;
  Map tensors_;
};

// Refused, naming file and tensor: no weights (with a hint when there are pickled ones), both forms
// at once, a damaged file, shard names that aren't plain names inside the directory, shards or
// tensors that the index names but which don't exist, tensors in a shard that the index doesn't
// place there. The index's metadata (total_size) is not used.
Result<ModelFiles> open_model(const std::filesystem::path& directory);

}  // namespace hairpin::safetensors
