// Held-out loss of a Hugging Face directory on chat samples.
#pragma once

#include <cstdint>
#include <filesystem>

#include "hairpin/base/result.h"

namespace hairpin::train {

struct EvaluateOptions {
  std::filesystem::path model;
  std::filesystem::path data;          // chat JSONL
  std::int64_t sequence_length = 512;  // a longer sample is an error
  int threads = 1;
};

struct Evaluation {
  double loss = 0;  // mean negative log-likelihood of a trained token, in nats
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;
};

Result<Evaluation> evaluate(const EvaluateOptions& options);

}  // namespace hairpin::train
