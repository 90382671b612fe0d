#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/samples/dataset.h"

namespace hairpin::samples {
namespace {

// Sample s has tokens 1000 s, 1000 s + 1, ...; of these every third is trained on.
Dataset dataset_of(const std::vector<int>& lengths) {
  Dataset data;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    Sample sample;
    for (int i = 0; i < lengths[s]; ++i) {
      sample.tokens.push_back(static_cast<std::int32_t>(s) * 1000 + i);
      sample.trained.push_back(i % 3 == 2);
    }
    data.samples.push_back(std::move(sample));
  }
  return data;
}

using Ids = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;

TEST(Batcher, LaysSamplesEndToEnd) {
  const auto data = dataset_of({4, 3, 5});
  Batcher batcher(data, {.sequence_length = 8, .shuffle = false});
  const auto first = batcher.next();
  EXPECT_EQ(first.sample_ids, (Ids{0, 1}));
  EXPECT_EQ(first.segment_lengths, (Ints{4, 3}));
  EXPECT_EQ(first.tokens, (Ints{0, 1, 2, 3, 1000, 1001, 1002}));
  EXPECT_EQ(first.targets, (Ints{-1, 2, -1, -1, -1, 1002, -1}));
  EXPECT_EQ(batcher.next().sample_ids, Ids{2});       // 5 + 4 would be 9
  EXPECT_EQ(batcher.next().sample_ids, (Ids{0, 1}));  // the next epoch
}

TEST(Batcher, FillsAMicrobatchWithSeveralSequences) {
  const auto data = dataset_of({4, 3, 5});
  Batcher packed(data, {.sequence_length = 8, .shuffle = false, .microbatch_size = 2});
  EXPECT_EQ(packed.next().sample_ids, (Ids{0, 1, 2}));
  Batcher exact(data, {.sequence_length = 7, .shuffle = false, .microbatch_size = 3});
  EXPECT_EQ(exact.next().sample_ids, (Ids{0, 1, 2, 0, 1}));
  Batcher single(data, {.packing = false, .shuffle = false, .microbatch_size = 2});
  EXPECT_EQ(single.next().sample_ids, (Ids{0, 1}));
  EXPECT_EQ(single.next().sample_ids, (Ids{2, 0}));
}

TEST(Batcher, ShufflesEachEpochAnew) {
  const auto data = dataset_of(std::vector<int>(50, 2));
  const auto epoch = [&](Batcher& batcher) {
    Ids ids;
    for (int i = 0; i < 50; ++i) ids.push_back(batcher.next().sample_ids.at(0));
    return ids;
  };
  Batcher one(data, {.packing = false, .seed = 1}), again(data, {.packing = false, .seed = 1}),
      other(data, {.packing = false, .seed = 2});
  const auto first = epoch(one), second = epoch(one);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, epoch(again));
  EXPECT_EQ(second, epoch(again));
  EXPECT_NE(first, epoch(other));
}

TEST(Batcher, ChecksItsContract) {
  const Dataset none;
  EXPECT_THROW(Batcher(none, {}), BrokenInvariant);
  const auto data = dataset_of({9});
  EXPECT_THROW(Batcher(data, {.sequence_length = 8}), BrokenInvariant);
  EXPECT_NO_THROW(Batcher(data, {.sequence_length = 8, .packing = false}));
  EXPECT_THROW(Batcher(data, {.sequence_length = 9, .microbatch_size = 0}), BrokenInvariant);
}

rc::Gen<BatchOptions> any_options() {
  return rc::gen::build<BatchOptions>(
      rc::gen::set(&BatchOptions::sequence_length, rc::gen::inRange<std::int64_t>(12, 40)),
      rc::gen::set(&BatchOptions::packing), rc::gen::set(&BatchOptions::shuffle),
      rc::gen::set(&BatchOptions::microbatch_size, rc::gen::inRange<std::int64_t>(1, 4)),
      rc::gen::set(&BatchOptions::seed));
}

std::vector<int> any_lengths() {
  return *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 13)));
}

RC_GTEST_PROP(Batcher, ServesEachSampleOncePerEpoch, ()) {
  const auto data = dataset_of(any_lengths());
  Batcher batcher(data, *any_options());
  const std::size_t size = data.samples.size();
  Ids served;
  while (served.size() < 3 * size) {
    const auto batch = batcher.next();
    served.insert(served.end(), batch.sample_ids.begin(), batch.sample_ids.end());
  }
  Ids all(size);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    const auto begin = served.begin() + static_cast<std::ptrdiff_t>(epoch * size);
    RC_ASSERT(std::is_permutation(begin, begin + static_cast<std::ptrdiff_t>(size), all.begin()));
  }
}

// Tokens name their sample, so a target taken from a neighbour would show.
RC_GTEST_PROP(Batcher, NeverLetsSamplesTalkAcross, ()) {
  const auto data = dataset_of(any_lengths());
  const auto options = *any_options();
  Batcher batcher(data, options);
  for (int i = 0; i < 20; ++i) {
    const auto batch = batcher.next();
    RC_ASSERT(batch.tokens.size() == batch.targets.size());
    RC_ASSERT(batch.sample_ids.size() == batch.segment_lengths.size());
    std::size_t at = 0;
    for (std::size_t s = 0; s < batch.sample_ids.size(); ++s) {
      const auto& sample = data.samples[static_cast<std::size_t>(batch.sample_ids[s])];
      RC_ASSERT(static_cast<std::size_t>(batch.segment_lengths[s]) == sample.tokens.size());
      for (std::size_t t = 0; t < sample.tokens.size(); ++t, ++at) {
        const bool trained = t + 1 < sample.tokens.size() && sample.trained[t + 1];
        RC_ASSERT(batch.tokens[at] == sample.tokens[t]);
        RC_ASSERT(batch.targets[at] == (trained ? sample.tokens[t + 1] : -1));
      }
    }
    RC_ASSERT(at == batch.tokens.size());
  }
}

RC_GTEST_PROP(Batcher, KeepsToTheSequenceLength, ()) {
  const auto data = dataset_of(any_lengths());
  auto options = *any_options();
  options.packing = true;
  Batcher batcher(data, options);
  for (int i = 0; i < 20; ++i) {
    const auto batch = batcher.next();
    std::int64_t used = 0, sequences = 1;
    for (const auto length : batch.segment_lengths) {
      if (used + length > options.sequence_length) used = 0, ++sequences;
      used += length;
    }
    RC_ASSERT(sequences == options.microbatch_size);
  }
}

}  // namespace
}  // namespace hairpin::samples
