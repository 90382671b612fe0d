#include "hairpin/train/loss_weights.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace hairpin::train {
namespace {

// Calls visit(group, microbatch, segment) for every sample of the batch. Tokens of one group share
// one part of the objective; groups count from 0.
template <class Visit>
void for_each_sample(config::Loss loss, const GlobalBatch& batch, Visit visit) {
  std::size_t sample = 0;
  for (std::size_t m = 0; m < batch.size(); ++m)
    for (const auto& segment : batch[m]->layout.segments) {
      const std::size_t group = loss == config::Loss::per_sample       ? sample
                                : loss == config::Loss::per_microbatch ? m
                                                                       : 0;
      visit(group, *batch[m], segment);
      ++sample;
    }
}

template <class T>
std::span<T> of_segment(std::vector<T>& tokens, const nn::PackedSegment& segment) {
  return std::span(tokens).subspan(static_cast<std::size_t>(segment.begin),
                                   static_cast<std::size_t>(segment.length));
}

bool is_trained(std::int32_t target) { return target >= 0; }

}  // namespace

std::int64_t weigh_losses(config::Loss loss, const GlobalBatch& batch) {
  std::vector<std::int64_t> trained;  // tokens, by group
  for_each_sample(loss, batch, [&](std::size_t group, auto& microbatch, const auto& segment) {
    trained.resize(std::max(trained.size(), group + 1));
    trained[group] += std::ranges::count_if(of_segment(microbatch.targets, segment), is_trained);
  });
  const auto groups = std::ranges::count_if(trained, [](auto tokens) { return tokens > 0; });

  for (const auto& microbatch : batch) microbatch->weights.assign(microbatch->targets.size(), 0.0f);
  for_each_sample(loss, batch, [&](std::size_t group, auto& microbatch, const auto& segment) {
    if (trained[group] == 0) return;
    const auto share = static_cast<double>(groups) * static_cast<double>(trained[group]);
    const auto weight = static_cast<float>(1.0 / share);
    std::ranges::transform(of_segment(microbatch.targets, segment),
                           of_segment(microbatch.weights, segment).begin(),
                           [&](auto target) { return is_trained(target) ? weight : 0.0f; });
  });
  return std::accumulate(trained.begin(), trained.end(), std::int64_t{0});
}

}  // namespace hairpin::train
