#include "hairpin/checkpoint/weights.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/collective/local.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::checkpoint {
namespace {

class Weights : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  Weights() {
    const auto& [model_type, dtype] = GetParam();
    const bool qwen2 = std::string(model_type) == "qwen2";
    const auto path = directory_ / "m";
    EXPECT_TRUE(hf::write_tiny_model(
        path, {.model_type = model_type, .layers = 3, .tied = qwen2, .dtype = dtype}));
    model_ = hf::open_whole(path).value();
  }
  models::ModelPart part(arch::SegmentRange range) const {
    return models::ModelPart(model_.architecture, {range}, {.positions = 8});
  }
  Tensor in_file(const std::string& name) const {
    const auto& source = *model_.files.find(name);
    Tensor tensor = empty_fp32(source.info.shape);
    copy_from_bytes(tensor, source.bytes, source.info.dtype);
    return tensor;
  }

  TemporaryDirectory directory_;
  hf::ModelDirectory model_;
};
INSTANTIATE_TEST_SUITE_P(Models, Weights,
                         testing::Combine(testing::Values("llama", "qwen2"),
                                          testing::Values(DType::f32, DType::bf16, DType::f16)));

TEST_P(Weights, WhatIsLoadedIsWrittenByteForByte) {
  auto whole = part({0, 5});
  load_weights(whole, model_);
  std::map<std::string, std::string> written;
  for (const auto& source : weight_sources({&whole}, model_)) {
    const auto& from = model_.files.find(source.info.name)->info;
    EXPECT_EQ(source.info.dtype, from.dtype);
    EXPECT_EQ(source.info.shape, from.shape);
    EXPECT_TRUE(written.emplace(source.info.name, as_text(source.bytes().value())).second);
  }
  ASSERT_EQ(written.size(), model_.files.tensors().size());
  for (const auto& [name, tensor] : model_.files.tensors())
    EXPECT_TRUE(written.at(name) == as_text(tensor.bytes)) << name;
}

// Also uneven shares of the vocabulary (331), and K/V heads (2) on several ranks each.
TEST_P(Weights, EveryTensorParallelGroupLoadsSlicesAndWritesTheWhole) {
  collective::LocalWorld world;
  for (const int ranks : {2, 4}) {
    const auto groups = world.make_group(ranks, "tp");
    std::vector<std::unique_ptr<models::ModelPart>> parts;
    DividedPart group;
    std::int64_t most = 0, sum = 0;
    for (const auto& member : groups) {
      parts.push_back(std::make_unique<models::ModelPart>(
          model_.architecture, std::vector<arch::SegmentRange>{{0, 5}},
          models::ModelOptions{.positions = 8, .tp = {.group = member.get()}}));
      load_weights(*parts.back(), model_);
      group.push_back(parts.back().get());
      std::int64_t held = 0;
      for (auto* bucket : group.back()->buckets()) held += bucket->values().numel();
      most = std::max(most, held);
      sum += held;
    }
    EXPECT_LT(most * ranks, sum + sum / 8);  // none holds much more than its share
    std::size_t written = 0;
    for (const auto& source : weight_sources(group, model_)) {
      const auto& from = *model_.files.find(source.info.name);
      EXPECT_EQ(source.info.shape, from.info.shape);
      EXPECT_TRUE(as_text(source.bytes().value()) == as_text(from.bytes)) << source.info.name;
      ++written;
    }
    EXPECT_EQ(written, model_.files.tensors().size());
  }
}

// A tied head, a fused projection: each Hugging Face tensor lies where the layers expect it.
TEST_P(Weights, FusedParametersHoldTheirPartsInOrder) {
  auto layer = part({2, 3});
  load_weights(layer, model_);
  std::set<std::string> seen;
  for (const auto& parameter : layer.buckets().front()->parameters()) {
    const auto fused = [&](const std::string& name, std::vector<std::string> parts) {
      const std::string prefix = "model.layers.1.";
      if (parameter.spec.name != prefix + name) return;
      std::vector<Tensor> rows;
      for (const auto& part : parts) rows.push_back(in_file(prefix + part));
      EXPECT_TRUE(parameter.value.equal(at::cat(rows))) << name;
      seen.insert(name);
    };
    fused("self_attn.qkv_proj.weight",
          {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"});
    fused("self_attn.qkv_proj.bias",
          {"self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"});
    fused("mlp.gate_up_proj.weight", {"mlp.gate_proj.weight", "mlp.up_proj.weight"});
    fused("mlp.down_proj.weight", {"mlp.down_proj.weight"});
  }
  EXPECT_EQ(seen.size(), model_.architecture.qkv_bias ? 4u : 3u);
}

TEST_P(Weights, APartHoldsItsOwnTensorsOnly) {
  auto middle = part({2, 4});
  const auto held = held_tensors({&middle});
  EXPECT_EQ(held.size(), model_.architecture.qkv_bias ? 24u : 18u);
  for (const auto& tensor : held) {
    EXPECT_TRUE(tensor.name.starts_with("model.layers.1.") ||
                tensor.name.starts_with("model.layers.2."));
    EXPECT_EQ(tensor.whole().sizes(), at::IntArrayRef(tensor.shape)) << tensor.name;
  }
}

TEST_P(Weights, SourcesFollowTheTraining) {
  auto layer = part({1, 2});
  load_weights(layer, model_);
  const auto sources = weight_sources({&layer}, model_);
  for (auto* bucket : layer.buckets())
    for (auto& parameter : bucket->parameters()) parameter.value.fill_(1.00390625f);  // 1 + 2^-8
  for (const auto& source : sources) {
    Tensor back = empty_fp32(source.info.shape);
    copy_from_bytes(back, source.bytes().value(), source.info.dtype);
    const float want = source.info.dtype == DType::bf16 ? 1.0f : 1.00390625f;  // to even
    EXPECT_EQ(back.min().item<float>(), want) << source.info.name;
    EXPECT_EQ(back.max().item<float>(), want) << source.info.name;
  }
}

}  // namespace
}  // namespace hairpin::checkpoint
