#include "hairpin/optim/optimizer.h"

#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "hairpin/optim/optimizer_kernels.h"
#include "hairpin/tensor/memory_meter.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::optim {
namespace {

constexpr std::int64_t kElementGrain = 1 << 16;

}  // namespace

Optimizer::Optimizer(std::vector<nn::Bucket*> buckets, const OptimizerOptions& options)
    : options_(options) {
  const MeterScope use(MemoryUse::optimizer);
  const bool adamw = options_.kind == OptimizerOptions::Kind::adamw;
  for (auto* bucket : buckets) {
    State state{bucket, Tensor(), Tensor()};
    if (adamw || options_.momentum > 0) state.first = at::zeros_like(bucket->values());
    if (adamw) state.second = at::zeros_like(bucket->values());
    states_.push_back(std::move(state));
  }
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  ++steps_;
  for (auto& state : states_)
    for (const auto& parameter : state.bucket->parameters())
      update(state, parameter, learning_rate, gradient_scale);
}

void Optimizer::update(State& state, const nn::Parameter& parameter, double learning_rate,
                       double gradient_scale) {
  const auto offset = parameter.value.storage_offset();
  const auto at_offset = [&](const Tensor& flat) {
    return flat.defined() ? flat.data_ptr<float>() + offset : nullptr;
  };
  float* p = at_offset(state.bucket->values());
  float* m = at_offset(state.first);
  float* v = at_offset(state.second);
  const float* g = at_offset(state.bucket->gradients());
  const double weight_decay = parameter.value.dim() > 1 ? options_.weight_decay : 0.0;
  const auto real = [](double x) { return static_cast<float>(x); };

  if (options_.kind == OptimizerOptions::Kind::sgd) {
    const SgdScalars scalars{real(gradient_scale), real(weight_decay), real(options_.momentum),
                             real(learning_rate)};
    parallel_rows(parameter.value.numel(), kElementGrain, [&](std::int64_t a, std::int64_t b) {
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
  parallel_rows(parameter.value.numel(), kElementGrain, [&](std::int64_t a, std::int64_t b) {
    adamw(p + a, m + a, v + a, g + a, b - a, scalars);
  });
}

}  // namespace hairpin::optim
