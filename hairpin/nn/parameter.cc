#include "hairpin/nn/parameter.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <numeric>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/tensor/memory_meter.h"

namespace hairpin::nn {
namespace {

constexpr std::int64_t kAlignment = 64 / sizeof(float);  // elements

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t padded(std::int64_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

Tensor part_of(const Tensor& parameter, const ParameterSpec& spec, std::size_t index) {
  std::int64_t row = 0;
  for (std::size_t i = 0; i < index; ++i) row += spec.parts[i].shape()[0];
  return parameter.narrow(0, row, spec.parts[index].shape()[0]);
}

}  // namespace

std::vector<std::int64_t> ParameterPart::shape() const {
  auto shape = hf_shape;
  shape[static_cast<std::size_t>(dim)] = slice.count;
  return shape;
}

ParameterPart whole_part(std::string hf_name, std::vector<std::int64_t> hf_shape) {
  const mesh::Range all{0, hf_shape.front()};
  return {.hf_name = std::move(hf_name), .hf_shape = std::move(hf_shape), .slice = all};
}

Tensor Parameter::part(std::size_t index) const { return part_of(value, spec, index); }
Tensor Parameter::part_gradient(std::size_t index) const { return part_of(gradient, spec, index); }

Bucket::Bucket(std::vector<ParameterSpec> specs) {
  std::int64_t total = 0;
  for (const auto& spec : specs) total += padded(element_count(spec.shape));
  {
    const MeterScope use(MemoryUse::weights);
    values_ = at::zeros({total}, at::kFloat);
  }
  {
    const MeterScope use(MemoryUse::gradients);
    gradients_ = at::empty({total}, at::kFloat);  // untouched, hence not resident, until trained
  }
  std::int64_t offset = 0;
  parameters_.reserve(specs.size());
  for (auto& spec : specs) {
    const auto count = element_count(spec.shape);
    parameters_.push_back({.value = values_.narrow(0, offset, count).view(spec.shape),
                           .gradient = gradients_.narrow(0, offset, count).view(spec.shape)});
    parameters_.back().spec = std::move(spec);
    gradients_.narrow(0, offset + count, padded(count) - count).zero_();
    offset += padded(count);
  }
}

void Bucket::complete_gradients() {
  for (auto& parameter : parameters_) {
    if (!parameter.has_gradient) parameter.gradient.zero_();
    parameter.has_gradient = true;
  }
}

void Bucket::begin_step() {
  for (auto& parameter : parameters_) parameter.has_gradient = false;
}

TiedUse::TiedUse(Parameter& source) : source_(source) {
  use_.spec = source.spec;
  use_.value = source.value;
  const MeterScope use(MemoryUse::gradients);
  use_.gradient = at::empty_like(source.gradient);
}

void TiedUse::fold_gradient() {
  if (!use_.has_gradient) return;
  if (source_.has_gradient) {
    source_.gradient.add_(use_.gradient);
  } else {
    source_.gradient.copy_(use_.gradient);
    source_.has_gradient = true;
  }
}

}  // namespace hairpin::nn
