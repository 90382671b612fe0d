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
  std::unique_ptr<models::ModelPart> part;  // null before `load_weights`

  std::int64_t num_segments() const { return directory.architecture.num_hidden_layers + 2; }
};

// A model directory's tokenizer; refused when it has ids that the model has no embedding for.
Result<tokenizer::ChatTokenizer> load_tokenizer(const std::filesystem::path& directory,
                                                const arch::Architecture& architecture);

// Directory and tokenizer, proved to belong together; no weights yet.
Result<WholeModel> open_whole(const std::filesystem::path& directory);

// Loads the weights. `positions`: position ids stay below this, at most the model's own bound.
// Computes with `threads` threads on the calling thread.
void load_weights(WholeModel& model, std::int64_t positions, int threads);

}  // namespace hairpin::train
