#include "hairpin/metrics/peak_rss.h"

#include <gtest/gtest.h>

#include <vector>

namespace hairpin::metrics {
namespace {

TEST(PeakRssTest, ReadsTheKernelsLine) {
  EXPECT_EQ(peak_rss_in("Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t   1234 kB\nVmRSS:\t 5 kB\n"),
            1234u * 1024);
  EXPECT_EQ(peak_rss_in("Name:\tx\n"), 0u);
  EXPECT_EQ(peak_rss_in("Name:\tx\nVmHWM:"), 0u);
}

TEST(PeakRssTest, CoversMemoryThatWasTouched) {
  constexpr std::size_t kSize = std::size_t{64} << 20;
  const auto before = peak_rss_bytes();
  {
    volatile char last = std::vector<char>(kSize, 1).back();
    (void)last;
  }
  EXPECT_GT(before, 0u);
  EXPECT_GE(peak_rss_bytes(), kSize);
}

}  // namespace
}  // namespace hairpin::metrics
