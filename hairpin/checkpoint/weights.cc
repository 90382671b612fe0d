#include "hairpin/checkpoint/weights.h"

#include <memory>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::checkpoint {
namespace {

const safetensors::Tensor& file_tensor(const hf::ModelDirectory& model, const std::string& name) {
  const auto* found = model.files.find(name);
  HAIRPIN_CHECK(found != nullptr, "{} has no tensor {}", model.files.directory().string(), name);
  return *found;
}

}  // namespace

std::vector<HeldTensor> held_tensors(models::ModelPart& part) {
  std::vector<HeldTensor> held;
  for (auto* bucket : part.buckets())
    for (const auto& parameter : bucket->parameters())
      for (std::size_t i = 0; i < parameter.spec.parts.size(); ++i) {
        const auto& spec = parameter.spec.parts[i];
        held.push_back({spec.hf_name, spec.shape, parameter.part(i)});
      }
  return held;
}

void load_weights(models::ModelPart& part, const hf::ModelDirectory& model) {
  for (auto& held : held_tensors(part)) {
    const auto& source = file_tensor(model, held.name);
    copy_from_bytes(held.value, source.bytes, source.info.dtype);
  }
  for (const auto& [name, tensor] : model.files.tensors()) release_mapped(tensor.bytes);
}

std::vector<safetensors::Source> weight_sources(models::ModelPart& part,
                                                const hf::ModelDirectory& origin) {
  std::vector<safetensors::Source> sources;
  const auto buffer = std::make_shared<Bytes>();  // of the tensor being written
  for (auto& held : held_tensors(part)) {
    const auto dtype = file_tensor(origin, held.name).info.dtype;
    sources.push_back(
        {{held.name, dtype, held.shape}, [buffer, value = held.value, dtype]() -> Result<ByteSpan> {
           *buffer = to_bytes(value, dtype);
           return ByteSpan(*buffer);
         }});
  }
  return sources;
}

}  // namespace hairpin::checkpoint
