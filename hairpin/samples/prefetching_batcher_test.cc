#include "hairpin/samples/prefetching_batcher.h"

#include <gtest/gtest.h>

#include "hairpin/base/check.h"

namespace hairpin::samples {
namespace {

Dataset some_dataset() {
  Dataset data;
  for (std::int32_t s = 0; s < 30; ++s)
    data.samples.push_back({std::vector<std::int32_t>(static_cast<std::size_t>(1 + s % 5), s),
                            std::vector<bool>(static_cast<std::size_t>(1 + s % 5), false)});
  return data;
}

TEST(PrefetchingBatcher, ServesWhatABatcherServes) {
  const auto data = some_dataset();
  const BatchOptions options{.sequence_length = 9, .seed = 5};
  for (const std::size_t depth : {1u, 3u}) {
    Batcher plain(data, options);
    PrefetchingBatcher prefetching(data, options, depth);
    for (int i = 0; i < 100; ++i) {
      const auto want = plain.next(), got = prefetching.next();
      ASSERT_EQ(got.sample_ids, want.sample_ids);
      ASSERT_EQ(got.tokens, want.tokens);
      ASSERT_EQ(got.targets, want.targets);
      ASSERT_EQ(got.segment_lengths, want.segment_lengths);
    }
  }
}

TEST(PrefetchingBatcher, StopsWhetherOrNotItWasUsed) {
  const auto data = some_dataset();
  for (int i = 0; i < 50; ++i) {
    PrefetchingBatcher batcher(data, {.sequence_length = 9}, 2);
    if (i % 2 == 0) batcher.next();
  }
}

TEST(PrefetchingBatcher, ChecksItsContract) {
  const auto data = some_dataset();
  EXPECT_THROW(PrefetchingBatcher(data, {.sequence_length = 9}, 0), BrokenInvariant);
  EXPECT_THROW(PrefetchingBatcher(data, {.sequence_length = 2}), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::samples
