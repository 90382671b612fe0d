#include <numeric>

#include "hairpin/base/check.h"
#include "hairpin/base/random.h"
#include "hairpin/samples/dataset.h"

namespace hairpin::samples {
namespace {

constexpr std::int32_t kNoTarget = -1;

void append_targets(const Sample& sample, std::vector<std::int32_t>& targets) {
  const std::size_t length = sample.tokens.size();
  for (std::size_t i = 0; i + 1 < length; ++i)
    targets.push_back(sample.trained[i + 1] ? sample.tokens[i + 1] : kNoTarget);
  targets.push_back(kNoTarget);  // the next token belongs to another sample
}

}  // namespace

Batcher::Batcher(const Dataset& dataset, BatchOptions options)
    : dataset_(dataset), options_(options), order_(dataset.samples.size()) {
  HAIRPIN_CHECK(!dataset.samples.empty(), "a batcher needs at least one sample");
  HAIRPIN_CHECK(options.microbatch_size >= 1, "microbatch_size is {}", options.microbatch_size);
  for (const auto& sample : dataset.samples) {
    const auto length = static_cast<std::int64_t>(sample.tokens.size());
    HAIRPIN_CHECK(length > 0 && sample.trained.size() == sample.tokens.size(),
                  "a sample of {} tokens with {} marks", length, sample.trained.size());
    HAIRPIN_CHECK(!options.packing || length <= options.sequence_length,
                  "a sample of {} tokens in sequences of {}", length, options.sequence_length);
  }
  position_ = order_.size();
}

std::int64_t Batcher::peek() {
  if (position_ == order_.size()) {
    ++epoch_;
    position_ = 0;
    std::iota(order_.begin(), order_.end(), 0);
    if (options_.shuffle) {
      Random random(derive_seed(options_.seed, "epoch-order", static_cast<std::uint64_t>(epoch_)));
      random.shuffle(std::span(order_));
    }
  }
  return order_[position_];
}

void Batcher::take(Microbatch& out) {
  const std::int64_t id = peek();
  const Sample& sample = dataset_.samples[static_cast<std::size_t>(id)];
  ++position_;
  out.sample_ids.push_back(id);
  out.tokens.insert(out.tokens.end(), sample.tokens.begin(), sample.tokens.end());
  out.segment_lengths.push_back(static_cast<std::int32_t>(sample.tokens.size()));
  append_targets(sample, out.targets);
}

Microbatch Batcher::next() {
  Microbatch out;
  const auto next_length = [&] {
    return dataset_.samples[static_cast<std::size_t>(peek())].tokens.size();
  };
  for (std::int64_t i = 0; i < options_.microbatch_size; ++i) {
    const std::size_t limit =
        out.tokens.size() + static_cast<std::size_t>(options_.sequence_length);
    take(out);
    while (options_.packing && out.tokens.size() + next_length() <= limit) take(out);
  }
  return out;
}

}  // namespace hairpin::samples
