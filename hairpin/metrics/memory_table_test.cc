#include "hairpin/metrics/memory_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hairpin::metrics {
namespace {

TEST(MemoryTableTest, Golden) {
  const std::vector<RankMemory> ranks{{"edge pp 0 dp 0 tp 0", 5'000'000'000, 3'000'000'000,
                                       1'000'000'000, 0, 999'000'000, 1'000'000},
                                      {"cloud pp 1 dp 0 tp 12", 1536, 1024, 500, 12, 0, 0}};
  EXPECT_EQ(
      memory_table(ranks),
      "tensor memory at peak    total  weights  gradients  optimizer  activations       link\n"
      "edge pp 0 dp 0 tp 0    4.7 GiB  2.8 GiB  953.7 MiB        0 B    952.7 MiB  976.6 KiB\n"
      "cloud pp 1 dp 0 tp 12  1.5 KiB  1.0 KiB      500 B       12 B          0 B        0 B\n");
}

TEST(MemoryTableTest, NoRanksNoTable) { EXPECT_EQ(memory_table({}), ""); }

TEST(MemorySummaryTest, TheLastRecordsTableAtTheEnd) {
  std::string shown;
  MemorySummary summary([&](const std::string& text) { shown += text; });
  StepRecord record;
  ASSERT_TRUE(summary.write(record));
  ASSERT_TRUE(summary.finish());
  EXPECT_EQ(shown, "");
  for (const std::int64_t peak : {10, 20}) {
    record.tensor_memory = {{.rank = "site pp 0, dp 0, tp 0", .peak = peak}};
    ASSERT_TRUE(summary.write(record));
  }
  EXPECT_EQ(shown, "");
  ASSERT_TRUE(summary.finish());
  EXPECT_EQ(shown, memory_table(record.tensor_memory));
}

TEST(MemoryTableTest, Units) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(1 << 20), "1.0 MiB");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 39), "1.5 TiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::int64_t>::max()), "8388608.0 TiB");
}

}  // namespace
}  // namespace hairpin::metrics
