#include "hairpin/checkpoint/weights.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <iterator>
#include <map>
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

template <class Visit>
void for_each_part(models::ModelPart& model, Visit visit) {
  for (auto* bucket : model.buckets())
    for (const auto& parameter : bucket->parameters())
      for (std::size_t i = 0; i < parameter.spec.parts.size(); ++i)
        visit(parameter.spec.parts[i], parameter.part(i));
}

// A slice of rows is one run of bytes, a slice of columns one in each row.
void load_slice(Tensor value, const nn::ParameterPart& part, const safetensors::Tensor& source) {
  const auto rows = part.hf_shape[0];
  const std::uint64_t row_bytes = source.bytes.size() / static_cast<std::uint64_t>(rows);
  const auto begin = static_cast<std::uint64_t>(part.slice.begin);
  const auto count = static_cast<std::uint64_t>(part.slice.count);
  const auto dtype = source.info.dtype;
  if (part.dim == 0)
    return copy_from_bytes(value, source.bytes.subspan(begin * row_bytes, count * row_bytes),
                           dtype);
  const auto size = dtype_size(dtype);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto offset = static_cast<std::uint64_t>(row) * row_bytes + begin * size;
    Tensor columns = value.select(0, row);
    copy_from_bytes(columns, source.bytes.subspan(offset, count * size), dtype);
  }
}

}  // namespace

Tensor HeldTensor::whole() const {
  if (slices.size() == 1) return slices.front().value;
  Tensor all = empty_fp32(shape);
  for (const auto& [part, value] : slices)
    all.narrow(part.dim, part.slice.begin, part.slice.count).copy_(value);
  return all;
}

std::vector<HeldTensor> held_tensors(const DividedPart& group) {
  std::vector<HeldTensor> held;
  std::map<std::string, std::size_t> index;
  for (auto* rank : group)
    for_each_part(*rank, [&](const nn::ParameterPart& part, Tensor value) {
      if (part.copy != 0) return;
      const auto [found, fresh] = index.emplace(part.hf_name, held.size());
      if (fresh) held.push_back({part.hf_name, part.hf_shape, {}});
      held[found->second].slices.push_back({part, std::move(value)});
    });
  return held;
}

void load_weights(models::ModelPart& part, const hf::ModelDirectory& model) {
  for_each_part(part, [&](const nn::ParameterPart& slice, Tensor value) {
    load_slice(std::move(value), slice, file_tensor(model, slice.hf_name));
  });
  for (const auto& [name, tensor] : model.files.tensors()) release_mapped(tensor.bytes);
}

std::vector<safetensors::Source> weight_sources(const DividedPart& group,
                                                const hf::ModelDirectory& origin) {
  std::vector<safetensors::Source> sources;
  const auto buffer = std::make_shared<Bytes>();  // of the tensor being written
  for (auto& held : held_tensors(group)) {
    const auto dtype = file_tensor(origin, held.name).info.dtype;
    const safetensors::TensorInfo info{held.name, dtype, held.shape};
    sources.push_back({info, [buffer, held = std::move(held), dtype]() -> Result<ByteSpan> {
                         *buffer = to_bytes(held.whole(), dtype);
                         return ByteSpan(*buffer);
                       }});
  }
  return sources;
}

std::vector<safetensors::Source> all_weight_sources(const std::vector<DividedPart>& groups,
                                                    const hf::ModelDirectory& origin) {
  std::vector<safetensors::Source> all;
  for (const auto& group : groups) {
    auto sources = weight_sources(group, origin);
    std::move(sources.begin(), sources.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace hairpin::checkpoint
