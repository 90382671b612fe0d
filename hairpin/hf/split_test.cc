#include "hairpin/hf/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/hf/tiny_model.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

void put(const fs::path& path, std::string_view text) {
  ASSERT_TRUE(write_file_atomic(path, as_byte_span(text)));
}
std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}
std::string refusal(const Result<void>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().message;
}
void expect_same_tensors(const fs::path& a, const fs::path& b) {
  const auto left = safetensors::open_model(a).value(), right = safetensors::open_model(b).value();
  ASSERT_EQ(left.tensors().size(), right.tensors().size());
  for (const auto& [name, tensor] : left.tensors()) {
    const auto* other = right.find(name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_EQ(tensor.info, other->info);
    EXPECT_EQ(as_text(tensor.bytes), as_text(other->bytes)) << name;
  }
}

// Untrained round trip: names, shapes, dtypes and bytes.
struct Case {
  const char* model_type;
  bool tied;
  DType dtype;
  std::uint64_t max_shard_bytes;
};
class RoundTrip : public testing::TestWithParam<Case> {};

TEST_P(RoundTrip, SplitAndMergeGiveTheSourceAgain) {
  const auto& param = GetParam();
  const TemporaryDirectory root;
  ASSERT_TRUE(write_tiny_model(root / "m", {.model_type = param.model_type,
                                            .layers = 4,
                                            .tied = param.tied,
                                            .dtype = param.dtype,
                                            .max_shard_bytes = param.max_shard_bytes}));
  put(root / "m/tokenizer.json", "{}");
  put(root / "m/README.md", "not a companion");
  const auto done = split({.source = root / "m",
                           .layers = {1, 0, 2, 1},
                           .edge = root / "e",
                           .cloud = root / "c",
                           .max_shard_bytes = param.max_shard_bytes});
  ASSERT_TRUE(done) << done.error().message;
  const auto merged = merge(root / "e", root / "c", root / "out", param.max_shard_bytes);
  ASSERT_TRUE(merged) << merged.error().message;
  expect_same_tensors(root / "m", root / "out");
  auto names = names_in(root / "m");
  names.erase("README.md");
  EXPECT_EQ(names_in(root / "out"), names);
  for (const char* name : {"config.json", "tokenizer.json"})
    EXPECT_EQ(read_text_file(root / "out" / name).value(),
              read_text_file(root / "m" / name).value());
}

INSTANTIATE_TEST_SUITE_P(
    All, RoundTrip,
    testing::Values(Case{"llama", true, DType::f32, safetensors::kMaxShardBytes},
                    Case{"llama", true, DType::bf16, 40'000},
                    Case{"llama", false, DType::bf16, safetensors::kMaxShardBytes},
                    Case{"qwen2", false, DType::f32, 40'000},
                    Case{"qwen2", true, DType::f16, safetensors::kMaxShardBytes}));

class SplitTiny : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_tiny_model(root / "m", {.layers = 4, .tied = false}));
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                             "generation_config.json"})
      put(root / "m" / name, name);
    options = {.source = root / "m", .layers = {1, 2, 1}, .edge = root / "e", .cloud = root / "c"};
  }
  TemporaryDirectory root;
  SplitOptions options;
};

TEST_F(SplitTiny, CloudGetsTheMiddleAndNothingElse) {
  ASSERT_TRUE(split(options));
  EXPECT_EQ(names_in(root / "c"),
            (std::set<std::string>{"config.json", "hairpin_split.json", "model.safetensors"}));
  const auto cloud = safetensors::open_model(root / "c").value();
  EXPECT_EQ(cloud.tensors().size(), 18u);
  for (const auto& [name, tensor] : cloud.tensors())
    EXPECT_TRUE(name.starts_with("model.layers.1.") || name.starts_with("model.layers.2.")) << name;
  EXPECT_EQ(names_in(root / "e"),
            (std::set<std::string>{"config.json", "hairpin_split.json", "model.safetensors",
                                   "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                   "generation_config.json"}));
  const auto edge = safetensors::open_model(root / "e").value();
  EXPECT_EQ(edge.tensors().size(), 18u + 3u);
  for (const auto& [name, tensor] : edge.tensors()) EXPECT_EQ(cloud.find(name), nullptr) << name;
}

TEST_F(SplitTiny, WritesNothingWhenItRefuses) {
  const auto before = names_in(root.path());
  const auto with = [&](auto change) {
    auto changed = options;
    change(changed);
    const auto message = refusal(split(changed));
    EXPECT_EQ(names_in(root.path()), before) << message;
    return message;
  };
  EXPECT_THAT(with([](auto& o) { o.layers = {0, 3, 1}; }), HasSubstr("allow_plaintext_cut"));
  EXPECT_THAT(with([](auto& o) { o.layers = {1, 3, 1}; }), HasSubstr("sum is 5"));
  EXPECT_THAT(with([](auto& o) { o.layers = {2, 2}; }), HasSubstr("at least three"));
  for (const auto* nested : {"", "cloud", "a/b"})
    EXPECT_THAT(with([&](auto& o) { o.cloud = o.edge / nested; }), HasSubstr("lie in one another"));
  EXPECT_THAT(with([](auto& o) { o.edge = o.cloud / "edge"; }), HasSubstr("lie in one another"));
  EXPECT_THAT(with([&](auto& o) { o.cloud = root / "m"; }), HasSubstr("--cloud"));
  EXPECT_THAT(with([&](auto& o) { o.edge = root / "m"; }), HasSubstr("already in use"));
  EXPECT_THAT(with([&](auto& o) { o.source = root / "none"; }), HasSubstr("none/config.json"));
  // A failure in the middle of writing, too.
  fs::create_symlink(root / "m/nowhere", root / "m/LICENSE");
  EXPECT_EQ(refusal(split(options)), "accepted");  // a dangling link is not a companion
}

TEST_F(SplitTiny, PlaintextCutsWorkWhenAccepted) {
  options.layers = {0, 4, 0};
  options.allow_plaintext_cut = true;
  ASSERT_TRUE(split(options));
  EXPECT_EQ(safetensors::open_model(root / "e").value().tensors().size(), 3u);
  ASSERT_TRUE(merge(root / "e", root / "c", root / "out"));
  expect_same_tensors(root / "m", root / "out");
}

TEST_F(SplitTiny, MergeRefusesWhatDoesNotBelongTogether) {
  ASSERT_TRUE(split(options));
  auto other = options;
  other.layers = {1, 1, 2};
  other.edge = root / "e2";
  other.cloud = root / "c2";
  ASSERT_TRUE(split(other));
  EXPECT_THAT(refusal(merge(root / "e", root / "c2", root / "out")),
              AllOf(HasSubstr("[1, 2, 1]"), HasSubstr("[1, 1, 2]")));
  EXPECT_THAT(refusal(merge(root / "c", root / "e", root / "out")),
              HasSubstr("is the cloud's half"));
  EXPECT_THAT(refusal(merge(root / "m", root / "c", root / "out")),
              HasSubstr("has no hairpin_split.json"));

  ASSERT_TRUE(write_tiny_model(root / "m3", {.layers = 4, .tied = false, .seed = 2}));
  other = {.source = root / "m3", .layers = {1, 2, 1}, .edge = root / "e3", .cloud = root / "c3"};
  ASSERT_TRUE(split(other));
  EXPECT_THAT(refusal(merge(root / "e", root / "c3", root / "out")),
              HasSubstr("halves of different models"));
  EXPECT_FALSE(fs::exists(root / "out"));
}

TEST_F(SplitTiny, MergeRefusesChangedWeights) {
  ASSERT_TRUE(split(options));
  auto text = read_text_file(root / "c/model.safetensors").value();
  text.back() ^= 1;
  put(root / "c/model.safetensors", text);
  EXPECT_THAT(refusal(merge(root / "e", root / "c", root / "out")),
              HasSubstr("not those that were split off"));
  EXPECT_FALSE(fs::exists(root / "out"));
}

}  // namespace
}  // namespace hairpin::hf
