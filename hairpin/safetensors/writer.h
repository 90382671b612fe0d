// Writes one safetensors file, tensor by tensor, atomically.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "hairpin/base/file.h"
#include "hairpin/safetensors/header.h"

namespace hairpin::safetensors {

// The metadata that `transformers` asks for.
inline const Metadata kTransformersMetadata = {{"format", "pt"}};

// The order in which Hugging Face's own writer lays tensors out: widest dtype first, so that all
// stay aligned, then by name.
void sort_as_hugging_face(std::vector<TensorInfo>& tensors);

// All tensors are declared first, then their bytes come in that order, in pieces of any size.
// Nothing is seen at `path` before `commit`; without it, nothing is left behind. One thread.
class Writer {
 public:
  static Result<Writer> create(const std::filesystem::path& path, std::vector<TensorInfo> tensors,
                               const Metadata& metadata = kTransformersMetadata);

  // The next bytes of the tensor `name`, which must be the one whose turn it is (checked).
  Result<void> append(std::string_view name, ByteSpan bytes);
  // Every tensor must be complete (checked).
  Result<void> commit();

 private:
  Writer(AtomicFile file, std::vector<TensorInfo> tensors)
      : file_(std::move(file)), tensors_(std::move(tensors)) {}
  void skip_complete();

  AtomicFile file_;
  std::vector<TensorInfo> tensors_;
  std::size_t current_ = 0;    // the tensor whose turn it is
  std::uint64_t written_ = 0;  // of its bytes
};

}  // namespace hairpin::safetensors
