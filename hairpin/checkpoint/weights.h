// Between a rank's parameters and the tensors of Hugging Face files.
#pragma once

#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/models/model_part.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::checkpoint {

// A Hugging Face tensor that a rank holds: rows of one of its parameters.
struct HeldTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  Tensor value;  // fp32 view of the parameter
};

// All that `part` holds, in model order. The views follow the training.
std::vector<HeldTensor> held_tensors(models::ModelPart& part);

// Fills the part's parameters from the directory; each tensor is converted to fp32, which is exact.
// `model` was opened for this part's layers, so its tensors are known to be there; its mapped pages
// are released.
void load_weights(models::ModelPart& part, const hf::ModelDirectory& model);

// For writing: each held tensor in the dtype it has in `origin`, rounded to nearest even.
std::vector<safetensors::Source> weight_sources(models::ModelPart& part,
                                                const hf::ModelDirectory& origin);

}  // namespace hairpin::checkpoint
