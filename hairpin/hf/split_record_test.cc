#include "hairpin/hf/split_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hairpin::hf {
namespace {

using testing::HasSubstr;

SplitRecord record() {
  return {Half::cloud,
          {2, 13, 13, 2},
          {sha256(as_byte_span("config")), sha256(as_byte_span("weights"))},
          sha256(as_byte_span("half"))};
}

TEST(SplitRecord, GoldenText) {
  EXPECT_EQ(encode(record()), R"({
  "format": "hairpin split",
  "version": 1,
  "half": "cloud",
  "layers": [
    2,
    13,
    13,
    2
  ],
  "source_config_sha256": "b79606fb3afea5bd1609ed40b622142f1c98125abcfe89a76a661b0e8e343910",
  "source_weights_sha256": "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c",
  "weights_sha256": "a11ae06469c63740d7b0ecf802f282a0d46e94f31a654dfcd3c0dc6dc277f904"
}
)");
}

TEST(SplitRecord, RoundTrip) {
  const auto read = decode(encode(record()), "d/hairpin_split.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->half, Half::cloud);
  EXPECT_EQ(read->layers, record().layers);
  EXPECT_EQ(read->source, record().source);
  EXPECT_EQ(read->weights, record().weights);
}

TEST(SplitRecord, RefusesEachWrongField) {
  const auto good = nlohmann::json::parse(encode(record()));
  const std::string hex = to_hex(record().weights);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong = {
      {"format", "other"},
      {"version", 2},
      {"half", "middle"},
      {"half", 1},
      {"layers", {2, 28}},
      {"layers", {2, -1, 2}},
      {"layers", "2"},
      {"layers", {2, 1e300, 2}},
      {"weights_sha256", hex.substr(1)},
      {"source_config_sha256", "G" + hex.substr(1)},
      {"source_weights_sha256", 7}};
  for (const auto& [key, value] : wrong)
    for (const bool erase : {false, true}) {
      auto document = good;
      if (erase)
        document.erase(key);
      else
        document[key] = value;
      const auto read = decode(document.dump(), "d/hairpin_split.json");
      ASSERT_FALSE(read) << key;
      EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
      EXPECT_THAT(read.error().message, HasSubstr("d/hairpin_split.json: "));
      EXPECT_THAT(read.error().message, HasSubstr(key));
    }
  EXPECT_FALSE(decode("[]", "x"));
  EXPECT_FALSE(decode("{", "x"));
}

TEST(SplitRecord, CutsAreTheFirstAndLastEntry) {
  EXPECT_TRUE(same_cuts({2, 13, 13, 2}, {2, 26, 2}));
  EXPECT_FALSE(same_cuts({2, 13, 13, 2}, {3, 25, 2}));
  EXPECT_FALSE(same_cuts({2, 13, 13, 2}, {2, 25, 3}));
}

}  // namespace
}  // namespace hairpin::hf
