#include "hairpin/metrics/json_text.h"

#include <gtest/gtest.h>

namespace hairpin::metrics {
namespace {

TEST(JsonTextTest, IsQuotedAndEscaped) {
  EXPECT_EQ(json_text("a b"), R"("a b")");
  EXPECT_EQ(json_text("a\"\\\n"), R"("a\"\\\n")");
  EXPECT_EQ(json_text("\xff"), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace hairpin::metrics
