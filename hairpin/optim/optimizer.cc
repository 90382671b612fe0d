#include "hairpin/optim/optimizer.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/optim/optimizer_kernels.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::optim {
namespace {

constexpr std::int64_t kElementGrain = 1 << 16;

}  // namespace

std::vector<OwnedRange> whole_ranges(const std::vector<nn::Bucket*>& buckets) {
  std::vector<OwnedRange> ranges;
  for (auto* bucket : buckets) ranges.push_back({bucket, {0, bucket->values().numel()}});
  return ranges;
}

Optimizer::Optimizer(const std::vector<OwnedRange>& owned, const OptimizerOptions& options)
    : options_(options) {
  const MeterScope use(MemoryUse::optimizer);
  const bool adamw = options_.kind == OptimizerOptions::Kind::adamw;
  for (const auto& each : owned) {
    const auto [begin, count] = each.range;
    const auto total = each.bucket->values().numel();
    HAIRPIN_CHECK(begin >= 0 && count >= 0 && begin + count <= total, "elements {} to {} of {}",
                  begin, begin + count, total);
    State state{each, Tensor(), Tensor()};
    if (adamw || options_.momentum > 0) state.first = at::zeros({count}, at::kFloat);
    if (adamw) state.second = at::zeros({count}, at::kFloat);
    states_.push_back(state);
  }
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  ++steps_;
  for (auto& state : states_)
    for (const auto& parameter : state.owned.bucket->parameters())
      update(state, parameter, learning_rate, gradient_scale);
}

void Optimizer::update(State& state, const nn::Parameter& parameter, double learning_rate,
                       double gradient_scale) {
  const auto& [bucket, range] = state.owned;
  const auto parameter_begin = parameter.value.storage_offset();
  const auto begin = std::max(parameter_begin, range.begin);
  const auto end = std::min(parameter_begin + parameter.value.numel(), range.end());
  if (begin >= end) return;
  const auto moment = [&, first = begin - range.begin](const Tensor& flat) {
    return flat.defined() ? flat.data_ptr<float>() + first : nullptr;
  };
  float* p = bucket->values().data_ptr<float>() + begin;
  const float* g = bucket->gradients().const_data_ptr<float>() + begin;
  float* m = moment(state.first);
  float* v = moment(state.second);
  const double weight_decay = parameter.value.dim() > 1 ? options_.weight_decay : 0.0;
  const auto real = [](double x) { return static_cast<float>(x); };

  if (options_.kind == OptimizerOptions::Kind::sgd) {
    const SgdScalars scalars{real(gradient_scale), real(weight_decay), real(options_.momentum),
                             real(learning_rate)};
    parallel_rows(end - begin, kElementGrain, [&](std::int64_t a, std::int64_t b) {
      sgd(p + a, m != nullptr ? m + a : nullptr, g + a, b - a, scalars);
    });
    return;
  }
  const auto t = static_cast<double>(steps_);
  const AdamWScalars scalars{real(gradient_scale),
                             real(1.0 - learning_rate * weight_decay),
                             real(1.0 - options_.beta1),
                             real(options_.beta2),
                             real(1.0 - options_.beta2),
                             real(learning_rate / (1.0 - std::pow(options_.beta1, t))),
                             real(std::sqrt(1.0 - std::pow(options_.beta2, t))),
                             real(options_.epsilon)};
  parallel_rows(end - begin, kElementGrain, [&](std::int64_t a, std::int64_t b) {
    adamw(p + a, m + a, v + a, g + a, b - a, scalars);
  });
}

}  // namespace hairpin::optim
