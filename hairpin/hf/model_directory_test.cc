#include "hairpin/hf/model_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/hf/split.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/safetensors/model_writer.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;
using safetensors::Source;
using testing::AllOf;
using testing::HasSubstr;

template <class T>
std::string refusal(const Result<T>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().message;
}

// A tiny model's tensors, to be changed and written again.
std::vector<Source> tensors_in(const ModelDirectory& model) {
  std::vector<Source> sources;
  for (const auto& [name, tensor] : model.files.tensors())
    sources.push_back(
        {tensor.info, [bytes = tensor.bytes]() -> Result<ByteSpan> { return bytes; }});
  return sources;
}
// Opens a copy of `model` with other tensors.
std::string with_tensors(const ModelDirectory& model, std::vector<Source> tensors) {
  const TemporaryDirectory changed;
  fs::copy_file(model.files.directory() / "config.json", changed / "config.json");
  EXPECT_TRUE(safetensors::write_model(changed.path(), std::move(tensors)));
  return refusal(open_whole(changed.path()));
}

class OpenTiny : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_tiny_model(root / "m", {.layers = 3})); }
  TemporaryDirectory root;
};

TEST_F(OpenTiny, Whole) {
  const auto model = open_whole(root / "m");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->architecture.num_hidden_layers, 3);
  EXPECT_EQ(model->files.tensors().size(), 1u + 3 * 9 + 1);
  EXPECT_FALSE(model->split);
  EXPECT_EQ(identity(*model)->weights, weights_digest(model->files.tensors()));
  EXPECT_EQ(identity(*model)->config, sha256_file(root / "m/config.json").value());
}

TEST_F(OpenTiny, NamesMissingAndSurplusTensors) {
  const auto model = open_whole(root / "m").value();
  auto tensors = tensors_in(model);
  EXPECT_EQ(with_tensors(model, tensors), "accepted");
  const auto last = tensors.back();
  tensors.pop_back();
  EXPECT_THAT(with_tensors(model, tensors), HasSubstr("lack the tensor \"model.norm.weight\""));
  tensors.erase(tensors.begin() + 1, tensors.begin() + 4);
  EXPECT_THAT(with_tensors(model, tensors), HasSubstr("\" and 3 more"));

  tensors = tensors_in(model);
  const std::string zeros(8, '\0');
  const auto zero = [&]() -> Result<ByteSpan> { return as_byte_span(zeros); };
  tensors.push_back({{"model.extra", DType::f32, {2}}, zero});
  EXPECT_THAT(with_tensors(model, tensors),
              HasSubstr("hold the tensor \"model.extra\", which has no place"));
  tensors.back().info.name = "lm_head.weight";
  EXPECT_THAT(with_tensors(model, tensors),
              AllOf(HasSubstr("\"lm_head.weight\""), HasSubstr("tie_word_embeddings is true")));
}

TEST_F(OpenTiny, NamesWrongShapesAndDtypes) {
  const auto model = open_whole(root / "m").value();
  auto tensors = tensors_in(model);
  auto& norm = tensors.back();
  ASSERT_EQ(norm.info.name, "model.norm.weight");
  norm.info.shape = {8, 8};
  EXPECT_THAT(with_tensors(model, tensors),
              HasSubstr("model.safetensors: tensor \"model.norm.weight\" has the shape [8, 8], but "
                        "config.json says [64]"));
  norm.info.shape = {64};
  norm.info.dtype = DType::i32;
  EXPECT_THAT(with_tensors(model, tensors),
              HasSubstr("\"model.norm.weight\" is I32; supported are F32, BF16 and F16"));
}

TEST_F(OpenTiny, ReadsF16AndBf16) {
  for (const auto dtype : {DType::f16, DType::bf16}) {
    const TemporaryDirectory other;
    ASSERT_TRUE(write_tiny_model(other.path(), {.layers = 1, .dtype = dtype}));
    EXPECT_EQ(refusal(open_whole(other.path())), "accepted");
  }
}

TEST_F(OpenTiny, WholeModelServesEachSiteOfAnyPlacementThatFits) {
  EXPECT_EQ(refusal(open_for(root / "m", Half::edge, {1, 1, 1})), "accepted");
  EXPECT_EQ(refusal(open_for(root / "m", Half::cloud, {1, 0, 1, 1})), "accepted");
  EXPECT_THAT(refusal(open_for(root / "m", Half::cloud, {1, 1, 2})), HasSubstr("sum is 4"));
}

TEST_F(OpenTiny, HalvesServeTheirSiteAndCutsOnly) {
  ASSERT_TRUE(split({root / "m", {1, 1, 1}, root / "e", root / "c"}));
  EXPECT_EQ(refusal(open_for(root / "e", Half::edge, {1, 1, 1})), "accepted");
  EXPECT_EQ(refusal(open_for(root / "c", Half::cloud, {1, 0, 1, 1})), "accepted");
  EXPECT_THAT(refusal(open_for(root / "e", Half::cloud, {1, 1, 1})),
              HasSubstr("is the edge's half of a split model, but this is the cloud"));
  EXPECT_THAT(refusal(open_for(root / "c", Half::edge, {1, 1, 1})),
              HasSubstr("is the cloud's half"));
  EXPECT_THAT(refusal(open_for(root / "c", Half::cloud, {0, 2, 1})),
              AllOf(HasSubstr("layers = [1, 1, 1]"), HasSubstr("layers = [0, 2, 1]")));
  EXPECT_THAT(refusal(open_whole(root / "e")), HasSubstr("is the edge's half"));
}

TEST_F(OpenTiny, HalfKnowsItsSource) {
  ASSERT_TRUE(split({root / "m", {1, 1, 1}, root / "e", root / "c"}));
  const auto whole = identity(open_whole(root / "m").value()).value();
  EXPECT_EQ(identity(open_for(root / "e", Half::edge, {1, 1, 1}).value()).value(), whole);
  EXPECT_EQ(identity(open_for(root / "c", Half::cloud, {1, 1, 1}).value()).value(), whole);
}

TEST_F(OpenTiny, HalfThatWasChangedIsNotBelieved) {
  ASSERT_TRUE(split({root / "m", {1, 1, 1}, root / "e", root / "c"}));
  auto text = read_text_file(root / "c/model.safetensors").value();
  text.back() ^= 1;
  ASSERT_TRUE(write_file_atomic(root / "c/model.safetensors", as_byte_span(text)));
  const auto model = open_for(root / "c", Half::cloud, {1, 1, 1});
  ASSERT_TRUE(model);
  EXPECT_THAT(refusal(identity(*model)), HasSubstr("not those that were split off"));

  auto config = read_text_file(root / "e/config.json").value();
  ASSERT_TRUE(write_file_atomic(root / "e/config.json", as_byte_span(config + " ")));
  EXPECT_THAT(refusal(open_for(root / "e", Half::edge, {1, 1, 1})),
              HasSubstr("config.json is not the one"));
}

}  // namespace
}  // namespace hairpin::hf
