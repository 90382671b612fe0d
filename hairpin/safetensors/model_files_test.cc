#include "hairpin/safetensors/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::safetensors {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Source source(const std::string& name, std::string text) {
  return {{name, DType::u8, {static_cast<std::int64_t>(text.size())}},
          [text = std::move(text)]() -> Result<ByteSpan> { return as_byte_span(text); }};
}
std::vector<Source> five() {
  return {source("e", "00000"), source("d", "1111"), source("c", "22"), source("b", "33"),
          source("a", "4444444444")};
}
std::vector<std::string> names(const std::vector<std::vector<Source>>& shards) {
  std::vector<std::string> all;
  for (const auto& shard : shards) {
    all.emplace_back();
    for (const auto& one : shard) all.back() += one.info.name;
  }
  return all;
}
std::string refusal(const fs::path& directory) {
  const auto model = open_model(directory);
  if (model) return "accepted";
  EXPECT_EQ(model.error().kind, ErrorKind::bad_input);
  return model.error().message;
}
void write(const fs::path& path, std::string_view text) {
  ASSERT_TRUE(write_file_atomic(path, as_byte_span(text)));
}

TEST(PlanShards, FillsInOrder) {
  EXPECT_EQ(names(plan_shards(five(), 8)), (std::vector<std::string>{"e", "dcb", "a"}));
  EXPECT_EQ(names(plan_shards(five(), 23)), (std::vector<std::string>{"edcba"}));
  EXPECT_EQ(names(plan_shards(five(), 22)), (std::vector<std::string>{"edcb", "a"}));
  EXPECT_EQ(names(plan_shards(five(), 1)), (std::vector<std::string>{"e", "d", "c", "b", "a"}));
  EXPECT_EQ(names(plan_shards({}, 1)), (std::vector<std::string>{""}));
}

TEST(ModelFiles, OneFile) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_model(directory.path(), five()));
  EXPECT_TRUE(fs::exists(directory / "model.safetensors"));
  EXPECT_FALSE(fs::exists(directory / "model.safetensors.index.json"));
  const auto model = open_model(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tensors().size(), 5u);
  EXPECT_EQ(as_text(model->find("d")->bytes), "1111");
  EXPECT_EQ(model->find("f"), nullptr);
}

TEST(ModelFiles, Shards) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_model(directory.path(), five(), 8));
  const auto index = read_text_file(directory / "model.safetensors.index.json");
  ASSERT_TRUE(index);
  EXPECT_THAT(*index, HasSubstr("\"total_size\": 23"));
  EXPECT_THAT(*index, HasSubstr("\"a\": \"model-00003-of-00003.safetensors\""));
  auto model = open_model(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  const ModelFiles copy = *model;
  model = bad_input("gone");  // bytes live as long as a copy
  for (const auto& one : five()) {
    const auto* tensor = copy.find(one.info.name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->info, one.info);
    EXPECT_EQ(as_text(tensor->bytes), as_text(one.bytes().value()));
  }
  EXPECT_EQ(copy.find("c")->file, "model-00002-of-00003.safetensors");
}

TEST(ModelFiles, RefusesAnIndexThatDoesNotFit) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_model(directory.path(), five(), 8));
  const auto path = directory / "model.safetensors.index.json";
  const auto with = [&](std::string_view map) {
    write(path, fmt::format(R"({{"weight_map": {{{}}}}})", map));
    return refusal(directory.path());
  };
  const std::string one = "\"e\": \"model-00001-of-00003.safetensors\"";
  EXPECT_EQ(with(one), "accepted");
  EXPECT_THAT(with(one + R"(, "x": "model-00001-of-00003.safetensors")"),
              HasSubstr("places tensor \"x\" there, but the file doesn't hold it"));
  EXPECT_THAT(with(one + R"(, "d": "model-00002-of-00003.safetensors")"),
              HasSubstr("holds tensor \"b\", which model.safetensors.index.json doesn't list"));
  EXPECT_THAT(with(one + R"(, "a": "model-00001-of-00003.safetensors")"),
              HasSubstr("tensor \"a\""));
  EXPECT_THAT(with(R"("e": "model-00009-of-00009.safetensors")"),
              HasSubstr("model-00009-of-00009.safetensors: No such file"));
  for (const char* shard :
       {"\"../e\"", "\"/etc/passwd\"", "\"..\"", "\"\"", "7", "\"a\\\\b\"", "\"a\\u0000\""})
    EXPECT_THAT(with(fmt::format("\"e\": {}", shard)), HasSubstr("not the plain name")) << shard;
  write(path, "{}");
  EXPECT_THAT(refusal(directory.path()), HasSubstr("no weight_map"));
  write(path, "[]");
  EXPECT_THAT(refusal(directory.path()), HasSubstr("no weight_map"));
}

TEST(ModelFiles, RefusesATensorInTwoShards) {
  const TemporaryDirectory directory, other;
  ASSERT_TRUE(write_model(directory.path(), {source("a", "1"), source("b", "2")}, 1));
  ASSERT_TRUE(write_model(other.path(), {source("a", "1"), source("b", "2")}));
  fs::copy_file(other / "model.safetensors", directory / "model-00002-of-00002.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(directory.path()),
              HasSubstr("holds tensor \"a\", which model.safetensors.index.json places in "
                        "model-00001-of-00002.safetensors"));
}

TEST(ModelFiles, RefusesDirectoriesWithoutOneSetOfWeights) {
  const TemporaryDirectory directory;
  EXPECT_THAT(refusal(directory / "none"), HasSubstr("no such directory"));
  EXPECT_THAT(refusal(directory.path()), HasSubstr("holds neither"));
  write(directory / "pytorch_model.bin", "x");
  EXPECT_THAT(refusal(directory.path()), HasSubstr("pickled"));
  ASSERT_TRUE(write_model(directory.path(), five()));
  EXPECT_EQ(refusal(directory.path()), "accepted");
  ASSERT_TRUE(write_model(directory.path(), five(), 8));
  EXPECT_THAT(refusal(directory.path()), HasSubstr("holds both"));
}

}  // namespace
}  // namespace hairpin::safetensors
