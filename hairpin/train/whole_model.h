// A whole model on one rank without gradients, for evaluation and generation.
#pragma once

#include <filesystem>
#include <memory>

#include "hairpin/base/result.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/models/model_part.h"
#include "hairpin/tokenizer/chat_tokenizer.h"

namespace hairpin::train {

struct WholeModel {
  hf::ModelDirectory directory;
  tokenizer::ChatTokenizer tokenizer;
  std::unique_ptr<models::ModelPart> part;

  std::int64_t num_segments() const { return directory.architecture.num_hidden_layers + 2; }
};

// A model directory's tokenizer; refused when it has ids that the model has no embedding for.
Result<tokenizer::ChatTokenizer> load_tokenizer(const std::filesystem::path& directory,
                                                const arch::Architecture& architecture);

// `positions`: position ids stay below this; more than the model has are refused. Computes with
// `threads` threads on the calling thread.
Result<WholeModel> load_whole(const std::filesystem::path& directory, std::int64_t positions,
                              int threads);

}  // namespace hairpin::train
