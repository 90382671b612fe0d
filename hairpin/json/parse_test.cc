#include "hairpin/json/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace hairpin::json {
namespace {

using testing::HasSubstr;

TEST(Parse, ReadsNestedDocuments) {
  const auto value = parse(R"({"a": [1, {"a": 2}], "b": {"a": -3.5}})", "x.json");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ((*value)["a"][1]["a"], 2);
  EXPECT_EQ((*value)["b"]["a"], -3.5);
}

TEST(Parse, RefusesADoubleKey) {
  const auto value = parse(R"({"b": 1, "a": {"k": 1, "k": 2}})", "x.json");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(value.error().message, HasSubstr("x.json: the key \"k\" occurs twice"));
}

TEST(Parse, BoundsTheDepth) {
  const std::string open(32, '['), close(32, ']');
  EXPECT_TRUE(parse(open + close, "x.json"));
  EXPECT_FALSE(parse("[" + open + close + "]", "x.json"));
  EXPECT_FALSE(parse(std::string(1 << 20, '['), "x.json"));
}

TEST(Parse, RefusesWhatIsNotJson) {
  for (const std::string text : {"", "{", "{]", "{\"a\":1}}", "{\"a\":1e999}", "\"\xff\"", "nan"}) {
    const auto value = parse(text, "x.json");
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr("x.json: "));
  }
}

TEST(Brief, CutsLongValues) {
  EXPECT_EQ(brief({1, "a"}), "[1,\"a\"]");
  EXPECT_EQ(brief(std::string(100, 'x')), "\"" + std::string(59, 'x') + "...");
}

}  // namespace
}  // namespace hairpin::json
