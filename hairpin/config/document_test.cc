#include "hairpin/config/document.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace hairpin::config {
namespace {

// The value that an override of this source gives.
Value read_back(const std::string& source) {
  Document document;
  const auto applied = apply_override("t.k=" + source, document);
  if (!applied) throw std::runtime_error(applied.error().message);
  return document.entries.at(0).value;
}

TEST(DocumentTest, EntriesKnowTheirLinesAndStandInTheFilesOrder) {
  const auto document =
      parse_document("[b]\nz = 1\n\n[a]\ny = true\nx = [1, 2]\n", "job.toml").value();
  ASSERT_EQ(document.tables.size(), 2u);
  EXPECT_EQ(document.tables[0].name, "b");
  EXPECT_EQ(document.tables[1].where, "job.toml:4");
  ASSERT_EQ(document.entries.size(), 3u);
  EXPECT_EQ(document.entries[0].key, "z");
  EXPECT_EQ(document.entries[1].where, "job.toml:5");
  EXPECT_EQ(document.entries[2].value, Value(Integers{1, 2}));
}

TEST(DocumentTest, SyntaxErrorsCarryLineAndColumn) {
  for (const char* text : {"[a]\nb = \n", "[a]\nb = 1 1\n", "[a]\nb = \"x\n", "[a]\n[a]\n"}) {
    const auto document = parse_document(text, "job.toml");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().message.rfind("job.toml:2: column ", 0), 0u)
        << document.error().message;
    EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
  }
}

TEST(DocumentTest, StrangeCharactersAreSyntaxErrors) {
  for (const char* text : {"[\x1b", "[a]\n[\x1b]", "[\xc3\xa9]", "[\xff]", "[", "[a.", "\xfe = 1",
                           "=", "[a]\nb.\x1b = 1"})
    EXPECT_FALSE(parse_document(text, "job.toml")) << text;
}

TEST(DocumentTest, AKeyOutsideATableIsRefused) {
  const auto document = parse_document("\nsteps = 1\n", "job.toml");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message.rfind("job.toml:2: steps: not in a table", 0), 0u);
}

TEST(DocumentTest, ValuesNoKeyTakesAreNamed) {
  const auto document =
      parse_document("[a]\nb = 2020-01-01\nc = {d = 1}\ne = [\"x\"]\n", "job.toml").value();
  EXPECT_EQ(form_name(document.find("a", "b")->value), "a date or time");
  EXPECT_EQ(form_name(document.find("a", "c")->value), "a table");
  EXPECT_EQ(form_name(document.find("a", "e")->value), "a list of other things than whole numbers");
}

TEST(OverrideTest, ReplacesAddsAndTakesBareWords) {
  auto document = parse_document("[train]\nsteps = 1\n", "job.toml").value();
  ASSERT_TRUE(apply_override("train.steps=50", document));
  ASSERT_TRUE(apply_override("split.layers=[1, 2, 1]", document));
  ASSERT_TRUE(apply_override("data.train=../a b/ä.jsonl", document));
  ASSERT_TRUE(apply_override("data.eval=\"1\"", document));
  EXPECT_EQ(document.entries.size(), 4u);
  EXPECT_EQ(document.find("train", "steps")->value, Value(std::int64_t{50}));
  EXPECT_EQ(document.find("train", "steps")->where, "--set train.steps=50");
  EXPECT_EQ(document.find("split", "layers")->value, Value(Integers{1, 2, 1}));
  EXPECT_EQ(document.find("data", "train")->value, Value(std::string("../a b/ä.jsonl")));
  EXPECT_EQ(document.find("data", "eval")->value, Value(std::string("1")));
  EXPECT_NE(document.find_table("split"), nullptr);
}

TEST(OverrideTest, RefusesWhatIsNoOverride) {
  for (const char* text : {"", "train", "train.steps", "steps=1", ".steps=1", "train.=1", "a.b.c=1",
                           "train.steps=", "train.steps=1\nseed = 2", "train.steps=\"1",
                           "train.steps=[1", "train.steps={", "train.steps=\xff"}) {
    Document document;
    const auto applied = apply_override(text, document);
    ASSERT_FALSE(applied) << text;
    EXPECT_EQ(applied.error().message.rfind(std::string("--set ") + text, 0), 0u);
    EXPECT_TRUE(document.entries.empty());
  }
}

RC_GTEST_PROP(ValueTest, SourceOfADoubleReadsBackBitForBit, (double value)) {
  RC_PRE(std::isfinite(value));
  RC_ASSERT(std::get<double>(read_back(to_toml(value))) == value);
}

RC_GTEST_PROP(ValueTest, SourceOfAWholeNumberReadsBack, (std::int64_t value)) {
  RC_ASSERT(read_back(to_toml(value)) == Value(value));
}

RC_GTEST_PROP(ValueTest, SourceOfAnAsciiStringReadsBack, ()) {
  auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  text += '\x7f';  // no `char` range ends after it
  RC_ASSERT(read_back(to_toml(text)) == Value(text));
}

}  // namespace
}  // namespace hairpin::config
