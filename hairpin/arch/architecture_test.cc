#include "hairpin/arch/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::arch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// As `transformers` 5 saves a small Llama.
json llama() {
  return json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 1, "dtype": "float32", "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 576, "initializer_range": 0.02, "intermediate_size": 1536,
    "max_position_embeddings": 8192, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
    "pad_token_id": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
    "tie_word_embeddings": true, "transformers_version": "5.0.0", "unk_token_id": 0,
    "use_cache": true, "vocab_size": 49152})");
}
// As older versions save a small Qwen2.
json qwen2() {
  return json::parse(R"({
    "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
    "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 21,
    "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
    "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
    "sliding_window": 32768, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1", "use_cache": true, "use_mrope": false,
    "use_sliding_window": false, "vocab_size": 151936})");
}
json with(json config, const json& patch) {
  for (const auto& [key, value] : patch.items()) config[key] = value;
  return config;
}
json without(json config, const std::string& key) {
  config.erase(key);
  return config;
}
Architecture read(const json& config) {
  const auto parsed = parse_architecture(config.dump(), "m/config.json");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(Architecture{});
}
std::string refusal(const json& config) {
  const auto parsed = parse_architecture(config.dump(), "m/config.json");
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(parsed.error().message, HasSubstr("m/config.json: "));
  return parsed.error().message;
}

TEST(Architecture, ReadsLlama) {
  const auto a = read(llama());
  EXPECT_EQ(a.model_type, "llama");
  EXPECT_EQ(a.hidden_size, 576);
  EXPECT_EQ(a.intermediate_size, 1536);
  EXPECT_EQ(a.num_hidden_layers, 30);
  EXPECT_EQ(a.num_attention_heads, 9);
  EXPECT_EQ(a.num_key_value_heads, 3);
  EXPECT_EQ(a.head_dim, 64);
  EXPECT_EQ(a.vocab_size, 49152);
  EXPECT_EQ(a.max_position_embeddings, 8192);
  EXPECT_EQ(a.rms_norm_eps, 1e-5);
  EXPECT_EQ(a.rope_theta, 100000.0);
  EXPECT_TRUE(a.tie_word_embeddings);
  EXPECT_FALSE(a.qkv_bias);
  EXPECT_FALSE(a.output_bias);
}

TEST(Architecture, ReadsQwen2) {
  const auto a = read(qwen2());
  EXPECT_EQ(a.model_type, "qwen2");
  EXPECT_EQ(a.head_dim, 64);
  EXPECT_EQ(a.rope_theta, 1e6);
  EXPECT_FALSE(a.tie_word_embeddings);
  EXPECT_TRUE(a.qkv_bias);
  EXPECT_FALSE(a.output_bias);
}

TEST(Architecture, DefaultsAreTransformers) {
  auto config = llama();
  for (const char* key :
       {"head_dim", "num_key_value_heads", "rope_parameters", "rms_norm_eps", "tie_word_embeddings",
        "max_position_embeddings", "architectures", "attention_bias", "hidden_act", "mlp_bias"})
    config.erase(key);
  const auto a = read(config);
  EXPECT_EQ(a.head_dim, 64);
  EXPECT_EQ(a.num_key_value_heads, 9);
  EXPECT_EQ(a.rope_theta, 10000.0);
  EXPECT_EQ(a.rms_norm_eps, 1e-6);
  EXPECT_FALSE(a.tie_word_embeddings);
  EXPECT_EQ(a.max_position_embeddings, 2048);
  EXPECT_EQ(read(without(qwen2(), "max_position_embeddings")).max_position_embeddings, 32768);
}

TEST(Architecture, LlamaMayHaveAttentionBias) {
  const auto a = read(with(llama(), {{"attention_bias", true}}));
  EXPECT_TRUE(a.qkv_bias);
  EXPECT_TRUE(a.output_bias);
}

TEST(Architecture, ReadsBothSpellingsOfRope) {
  const auto bare = without(llama(), "rope_parameters");
  EXPECT_EQ(read(with(bare, {{"rope_theta", 7}})).rope_theta, 7.0);
  EXPECT_EQ(
      read(with(bare, {{"rope_theta", 7}, {"rope_scaling", {{"type", "default"}}}})).rope_theta,
      7.0);
  EXPECT_EQ(read(with(llama(), {{"rope_theta", 100000}})).rope_theta, 100000.0);
  EXPECT_THAT(refusal(with(llama(), {{"rope_theta", 7}})),
              HasSubstr("rope_parameters.rope_theta = 100000.0: contradicts the 7"));
}

TEST(Architecture, HeadDimMayDifferFromHiddenOverHeads) {
  EXPECT_EQ(read(with(llama(), {{"head_dim", 32}})).head_dim, 32);
  EXPECT_EQ(read(with(qwen2(), {{"head_dim", 32}, {"hidden_size", 900}})).head_dim, 32);
  EXPECT_THAT(refusal(with(qwen2(), {{"hidden_size", 900}})), HasSubstr("hidden_size = 900"));
  EXPECT_THAT(refusal(with(llama(), {{"head_dim", 63}})), HasSubstr("head_dim = 63: must be even"));
}

TEST(Architecture, RefusesOtherArchitecturesByName) {
  EXPECT_THAT(refusal(with(llama(), {{"model_type", "mistral"}})),
              HasSubstr("model_type = \"mistral\": not supported; supported are LlamaForCausalLM"));
  EXPECT_THAT(refusal(without(llama(), "model_type")), HasSubstr("model_type is missing"));
  EXPECT_THAT(refusal(with(llama(), {{"architectures", {"LlamaForSequenceClassification"}}})),
              HasSubstr("LlamaForSequenceClassification"));
  EXPECT_THAT(refusal(with(llama(), {{"architectures", {"Qwen2ForCausalLM"}}})),
              HasSubstr("architectures = [\"Qwen2ForCausalLM\"]"));
}

// Each option that changes the computation is refused with its key.
TEST(Architecture, RefusesWhatItDoesNotCompute) {
  const json patches = {{"hidden_act", "gelu"},
                        {"mlp_bias", true},
                        {"attention_dropout", 0.1},
                        {"partial_rotary_factor", 0.5},
                        {"rope_interleaved", true},
                        {"use_mrope", true},
                        {"is_encoder_decoder", true},
                        {"add_cross_attention", true},
                        {"quantization_config", {{"bits", 4}}},
                        {"auto_map", {{"AutoModel", "x.Y"}}},
                        {"sliding_window", 4096},
                        {"pruned_heads", {{"0", {1}}}},
                        {"layer_types", {"full_attention"}},
                        {"embedding_multiplier", 12},
                        {"num_experts", 8}};
  for (const auto& [key, value] : patches.items())
    EXPECT_THAT(refusal(with(llama(), {{key, value}})), HasSubstr(key)) << key;
  EXPECT_THAT(refusal(with(qwen2(), {{"attention_bias", false}})), HasSubstr("attention_bias"));
}

TEST(Architecture, RefusesRopeScaling) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    for (const char* spelling : {"rope_type", "type"})
      EXPECT_THAT(refusal(with(llama(), {{key, {{spelling, "llama3"}, {"factor", 8}}}})),
                  HasSubstr(fmt::format("{}.{} = \"llama3\"", key, spelling)));
  EXPECT_THAT(refusal(with(llama(), {{"rope_scaling", {{"factor", 8}}}})),
              HasSubstr("unknown option \"rope_scaling.factor\""));
  EXPECT_THAT(refusal(with(llama(), {{"rope_scaling", {{"partial_rotary_factor", 0.5}}}})),
              HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(refusal(with(llama(), {{"rope_scaling", 2}})), HasSubstr("rope_scaling = 2"));
}

TEST(Architecture, SlidingWindowCountsOnlyWhenALayerUsesIt) {
  EXPECT_THAT(refusal(with(qwen2(), {{"use_sliding_window", true}})),
              HasSubstr("use_sliding_window"));
  EXPECT_EQ(refusal(with(qwen2(), {{"use_sliding_window", true}, {"max_window_layers", 24}})),
            "accepted");
  EXPECT_EQ(refusal(with(qwen2(), {{"use_sliding_window", true}, {"sliding_window", nullptr}})),
            "accepted");
  const json full(24, "full_attention");
  EXPECT_EQ(refusal(with(qwen2(), {{"layer_types", full}})), "accepted");
  auto mixed = full;
  mixed[20] = "sliding_attention";
  EXPECT_THAT(refusal(with(qwen2(), {{"layer_types", mixed}})),
              HasSubstr("layer_types[20] = \"sliding_attention\""));
  EXPECT_THAT(refusal(with(qwen2(), {{"layer_types", json(23, "full_attention")}})),
              HasSubstr("must have 24 entries"));
}

TEST(Architecture, InertKeysAreNeverRefused) {
  EXPECT_EQ(refusal(with(llama(), {{"_name_or_path", "x"},
                                   {"is_llama_config", true},
                                   {"rope_interleaved", false},
                                   {"transformers.js_config", {{"dtype", "q4"}}},
                                   {"pretraining_tp", 2},
                                   {"quantization_config", nullptr},
                                   {"sliding_window", nullptr},
                                   {"temperature", 0.7},
                                   {"eos_token_id", {1, 2}},
                                   {"id2label", {{"0", "LABEL_0"}}}})),
            "accepted");
}

TEST(Architecture, NamesTheNearestKey) {
  EXPECT_THAT(refusal(with(llama(), {{"rope_thetta", 1}})),
              HasSubstr("unknown option \"rope_thetta\", which may change what the model computes; "
                        "did you mean \"rope_theta\"?"));
}

TEST(Architecture, BoundsSizes) {
  for (const std::string key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings"})
    for (const json& value : {json(0), json(-1), json(1.5), json("8"), json(std::int64_t{1} << 50)})
      EXPECT_THAT(refusal(with(llama(), {{key, value}})),
                  HasSubstr(fmt::format("{} = {}: must be an integer from 1", key, value.dump())));
  for (const std::string key : {"hidden_size", "intermediate_size", "num_hidden_layers",
                                "num_attention_heads", "vocab_size"})
    EXPECT_THAT(refusal(without(llama(), key)), HasSubstr(key + " is missing"));
  EXPECT_THAT(refusal(with(llama(), {{"num_key_value_heads", 2}})), HasSubstr("doesn't divide"));
  EXPECT_THAT(refusal(with(llama(), {{"hidden_size", 577}})), HasSubstr("hidden_size = 577"));
  EXPECT_THAT(refusal(with(llama(), {{"rms_norm_eps", 0}})), HasSubstr("rms_norm_eps = 0"));
  EXPECT_THAT(refusal(with(llama(), {{"tie_word_embeddings", 1}})),
              HasSubstr("tie_word_embeddings"));
}

TEST(Architecture, ReadsADirectory) {
  const TemporaryDirectory directory;
  const auto missing = read_architecture(directory.path());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("config.json: No such file"));
  ASSERT_TRUE(write_file_atomic(directory / "config.json", as_byte_span(llama().dump())));
  EXPECT_EQ(read_architecture(directory.path())->vocab_size, 49152);
  EXPECT_FALSE(parse_architecture("[]", "m/config.json"));
  EXPECT_FALSE(parse_architecture("{", "m/config.json"));
}

TEST(Segments, NamesAndShapesInModelOrder) {
  const auto all = segments(read(qwen2()));
  ASSERT_EQ(all.size(), 26u);
  EXPECT_EQ(all[0].kind, SegmentSpec::Kind::embedding);
  EXPECT_EQ(all[0].tensors.at(0).name, "model.embed_tokens.weight");
  EXPECT_EQ(all[0].tensors.at(0).shape, (std::vector<std::int64_t>{151936, 896}));
  EXPECT_EQ(all[24].kind, SegmentSpec::Kind::layer);
  EXPECT_EQ(all[24].layer, 23);
  std::string names;
  for (const auto& tensor : all[2].tensors) names += tensor.name.substr(15) + " ";
  EXPECT_EQ(names,
            "input_layernorm.weight self_attn.q_proj.weight self_attn.q_proj.bias "
            "self_attn.k_proj.weight self_attn.k_proj.bias self_attn.v_proj.weight "
            "self_attn.v_proj.bias self_attn.o_proj.weight post_attention_layernorm.weight "
            "mlp.gate_proj.weight mlp.up_proj.weight mlp.down_proj.weight ");
  EXPECT_EQ(all[2].tensors[0].name, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(all[2].tensors[3].shape, (std::vector<std::int64_t>{128, 896}));
  EXPECT_EQ(all[2].tensors[4].shape, (std::vector<std::int64_t>{128}));
  EXPECT_EQ(all[25].tensors.at(1).name, "lm_head.weight");
}

TEST(Segments, TiedHeadHasOnlyItsNorm) {
  const auto all = segments(read(with(llama(), {{"head_dim", 32}, {"attention_bias", true}})));
  EXPECT_EQ(all.back().tensors.size(), 1u);
  EXPECT_EQ(all.back().tensors[0].name, "model.norm.weight");
  ASSERT_EQ(all[1].tensors.size(), 13u);
  EXPECT_EQ(all[1].tensors[7].name, "model.layers.0.self_attn.o_proj.weight");
  EXPECT_EQ(all[1].tensors[7].shape, (std::vector<std::int64_t>{576, 288}));
  EXPECT_EQ(all[1].tensors[8].name, "model.layers.0.self_attn.o_proj.bias");
}

}  // namespace
}  // namespace hairpin::arch
