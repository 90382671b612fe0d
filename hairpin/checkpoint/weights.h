// Between ranks' parameters and the tensors of Hugging Face files.
#pragma once

#include <string>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/models/model_part.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::checkpoint {

// The parts of a tensor-parallel group's ranks, in their order: together whole tensors.
using DividedPart = std::vector<models::ModelPart*>;

// A Hugging Face tensor that the ranks of a group hold.
struct HeldTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  struct Slice {
    nn::ParameterPart part;
    Tensor value;  // fp32 view of a rank's parameter
  };
  std::vector<Slice> slices;

  // fp32; a copy, but for a tensor that one rank holds whole: then the rank's own.
  Tensor whole() const;
};

// All that the group's ranks hold, in model order; of copies the first. The views follow the
// training.
std::vector<HeldTensor> held_tensors(const DividedPart& group);

// Fills one rank's parameters from the directory, of each tensor the rank's slice only; each is
// converted to fp32, which is exact. `model` was opened for this part's layers, so its tensors are
// known to be there; its mapped pages are released.
void load_weights(models::ModelPart& part, const hf::ModelDirectory& model);

// For writing: each held tensor in the dtype it has in `origin`, rounded to nearest even.
std::vector<safetensors::Source> weight_sources(const DividedPart& group,
                                                const hf::ModelDirectory& origin);

// The same of several groups, one after another: of the pipeline ranks of a site.
std::vector<safetensors::Source> all_weight_sources(const std::vector<DividedPart>& groups,
                                                    const hf::ModelDirectory& origin);

}  // namespace hairpin::checkpoint
