// A tiny model with random weights, for tests, examples and benchmarks. Not for use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "hairpin/base/dtype.h"
#include "hairpin/base/result.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::hf {

struct TinyModelOptions {
  std::string model_type = "llama";  // or "qwen2"
  std::int64_t layers = 6;
  std::int64_t hidden = 64;
  std::int64_t intermediate = 176;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t vocab = 331;
  std::int64_t max_positions = 512;
  bool tied = true;
  DType dtype = DType::f32;  // F32, BF16 or F16
  std::uint64_t seed = 1;
  std::uint64_t max_shard_bytes = safetensors::kMaxShardBytes;
};

// Writes config.json and the weights into `directory`, which is created; it may hold other files
// but no weights. The same options give the same bytes on every machine. Matrices are normal with
// deviation 0.08, embeddings 0.1, biases 0.05; norm weights are 1 plus normal with deviation 0.1.
Result<void> write_tiny_model(const std::filesystem::path& directory,
                              const TinyModelOptions& options = {});

}  // namespace hairpin::hf
