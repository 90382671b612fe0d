#include "hairpin/hf/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/hf/tiny_model.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;

std::vector<safetensors::Source> tensors_of_files(const safetensors::ModelFiles& files) {
  std::vector<safetensors::Source> sources;
  for (const auto& [name, tensor] : files.tensors())
    sources.push_back(
        {tensor.info, [bytes = tensor.bytes]() -> Result<ByteSpan> { return bytes; }});
  return sources;
}

TEST(Export, GivesTheSameFilesAgain) {
  const TemporaryDirectory root;
  ASSERT_TRUE(
      write_tiny_model(root / "m", {.layers = 2, .dtype = DType::bf16, .max_shard_bytes = 50'000}));
  const auto model = open_whole(root / "m").value();
  ASSERT_TRUE(
      export_model(root / "out", "--out", root / "m", tensors_of_files(model.files), 50'000));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(root / "m")) {
    const auto name = entry.path().filename();
    ++files;
    EXPECT_EQ(read_text_file(root / "out" / name).value_or("missing"),
              read_text_file(root / "m" / name).value())
        << name;
  }
  EXPECT_GE(files, 4);
}

TEST(Export, LeavesNothingWhenAProviderFails) {
  const TemporaryDirectory root;
  ASSERT_TRUE(write_tiny_model(root / "m", {.layers = 1}));
  const auto model = open_whole(root / "m").value();
  auto tensors = tensors_of_files(model.files);
  tensors.back().bytes = []() -> Result<ByteSpan> { return fail(ErrorKind::peer, "no bytes"); };
  const auto done = export_model(root / "out", "--out", root / "m", tensors);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::peer);
  EXPECT_EQ(std::distance(fs::directory_iterator(root.path()), {}), 1);
}

TEST(Export, ChecksThatTheModelIsWhole) {
  const TemporaryDirectory root;
  ASSERT_TRUE(write_tiny_model(root / "m", {.layers = 1}));
  const auto model = open_whole(root / "m").value();
  auto tensors = tensors_of_files(model.files);
  tensors.pop_back();
  EXPECT_THROW((void)export_model(root / "out", "--out", root / "m", tensors), BrokenInvariant);
  tensors.push_back(tensors.back());
  EXPECT_THROW((void)export_model(root / "out", "--out", root / "m", tensors), BrokenInvariant);
}

std::vector<float> f32(const safetensors::Tensor& tensor) {
  std::vector<float> values;
  ByteReader reader(tensor.bytes);
  while (!reader.at_end()) values.push_back(reader.number<float>());
  return values;
}

TEST(TinyModel, HasTheStatedDistributionsAndDependsOnItsSeed) {
  const TemporaryDirectory root;
  ASSERT_TRUE(write_tiny_model(root / "a", {}));
  ASSERT_TRUE(write_tiny_model(root / "b", {}));
  ASSERT_TRUE(write_tiny_model(root / "c", {.seed = 2}));
  const auto a = open_whole(root / "a").value(), b = open_whole(root / "b").value(),
             c = open_whole(root / "c").value();
  EXPECT_EQ(identity(a)->weights, identity(b)->weights);
  EXPECT_NE(identity(a)->weights, identity(c)->weights);
  const auto moments = [&](const char* name) {
    double sum = 0, squares = 0;
    const auto values = f32(*a.files.find(name));
    for (const auto value : values) sum += value, squares += double{value} * value;
    const auto n = static_cast<double>(values.size());
    return std::pair(sum / n, std::sqrt(squares / n - sum / n * (sum / n)));
  };
  const auto [mean, deviation] = moments("model.layers.0.mlp.up_proj.weight");
  EXPECT_NEAR(mean, 0.0, 0.005);
  EXPECT_NEAR(deviation, 0.08, 0.005);
  EXPECT_NEAR(moments("model.norm.weight").first, 1.0, 0.1);
}

// The same seed in another dtype is the same model, rounded.
TEST(TinyModel, RoundsToTheNearest) {
  const TemporaryDirectory root;
  ASSERT_TRUE(write_tiny_model(root / "f32", {.layers = 1}));
  ASSERT_TRUE(write_tiny_model(root / "bf16", {.layers = 1, .dtype = DType::bf16}));
  ASSERT_TRUE(write_tiny_model(root / "f16", {.layers = 1, .dtype = DType::f16}));
  const char* name = "model.embed_tokens.weight";
  const auto exact = f32(*open_whole(root / "f32")->files.find(name));
  const auto bf16_model = open_whole(root / "bf16").value(),
             f16_model = open_whole(root / "f16").value();
  ByteReader bf16(bf16_model.files.find(name)->bytes), f16(f16_model.files.find(name)->bytes);
  for (const auto value : exact) {
    const auto wide = std::bit_cast<float>(std::uint32_t{bf16.number<std::uint16_t>()} << 16);
    EXPECT_LE(std::fabs(wide - value), std::fabs(value) * 0x1p-8f);
    const auto bits = f16.number<std::uint16_t>();
    const int exponent = bits >> 10 & 31;
    const double fraction = (bits & 1023) / 1024.0;
    const double half =
        (exponent ? std::ldexp(1 + fraction, exponent - 15) : std::ldexp(fraction, -14)) *
        (bits >> 15 ? -1 : 1);
    EXPECT_LE(std::fabs(half - value), std::max(std::fabs(value) * 0x1p-11, 0x1p-25));
  }
  EXPECT_TRUE(bf16.at_end() && f16.at_end());
}

}  // namespace
}  // namespace hairpin::hf
