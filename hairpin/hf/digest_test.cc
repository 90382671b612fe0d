#include "hairpin/hf/digest.h"

#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::hf {
namespace {

safetensors::Tensor tensor(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                           std::string_view bytes) {
  return {{name, dtype, std::move(shape)}, as_byte_span(bytes), "model.safetensors"};
}
safetensors::ModelFiles::Map two() {
  return {{"a", tensor("a", DType::bf16, {2}, "wxyz")}, {"b", tensor("b", DType::f32, {}, "0123")}};
}

// The definition in digest.h, spelt out byte for byte.
TEST(WeightsDigest, GoldenBytes) {
  const auto record = [](std::string_view head, std::string_view data) {
    return std::string(head) + std::string(as_text(sha256(as_byte_span(data))));
  };
  using namespace std::string_view_literals;
  const auto golden = "hairpin weights 1\n" +
                      record("\1\0\0\0a\4\0\0\0BF16\1\0\0\0\2\0\0\0\0\0\0\0"sv, "wxyz") +
                      record("\1\0\0\0b\3\0\0\0F32\0\0\0\0"sv, "0123");
  EXPECT_EQ(to_hex(weights_digest(two())), to_hex(sha256(as_byte_span(golden))));
}

TEST(WeightsDigest, DependsOnEverythingButTheFile) {
  const auto base = weights_digest(two());
  auto changed = two();
  changed["a"].file = "model-00001-of-00002.safetensors";
  EXPECT_EQ(weights_digest(changed), base);
  changed["a"].bytes = as_byte_span("wxyZ");
  EXPECT_NE(weights_digest(changed), base);
  changed = two();
  changed["a"].info.shape = {2, 1};
  EXPECT_NE(weights_digest(changed), base);
  changed = two();
  changed["a"].info.dtype = DType::f16;
  EXPECT_NE(weights_digest(changed), base);
  changed = two();
  changed["c"] = changed.extract("b").mapped();
  EXPECT_NE(weights_digest(changed), base);
}

TEST(ConfigDigest, IsOfTheBytes) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(config_digest(directory.path()));
  ASSERT_TRUE(write_file_atomic(directory / "config.json", as_byte_span("{}")));
  EXPECT_EQ(config_digest(directory.path()).value(), sha256(as_byte_span("{}")));
}

}  // namespace
}  // namespace hairpin::hf
