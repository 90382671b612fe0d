#include "hairpin/models/decoder_parameters.h"

#include <fmt/core.h>

namespace hairpin::models {
namespace {

using nn::ParameterSpec;

// A parameter that is one Hugging Face tensor of the same name.
ParameterSpec whole(const std::string& name, std::vector<std::int64_t> shape) {
  return {name, shape, {{name, shape}}};
}

}  // namespace

std::vector<ParameterSpec> embedding_parameters(const arch::Architecture& a) {
  return {whole("model.embed_tokens.weight", {a.vocab_size, a.hidden_size})};
}

std::vector<ParameterSpec> layer_parameters(const arch::Architecture& a, std::int64_t layer) {
  const auto prefix = fmt::format("model.layers.{}.", layer);
  const auto attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  const auto hidden = a.hidden_size, inner = a.intermediate_size;
  const auto queries = a.num_attention_heads * a.head_dim;
  const auto keys = a.num_key_value_heads * a.head_dim;
  const auto fused = queries + 2 * keys;

  std::vector<ParameterSpec> specs;
  specs.push_back(whole(prefix + "input_layernorm.weight", {hidden}));
  specs.push_back({attention + "qkv_proj.weight",
                   {fused, hidden},
                   {{attention + "q_proj.weight", {queries, hidden}},
                    {attention + "k_proj.weight", {keys, hidden}},
                    {attention + "v_proj.weight", {keys, hidden}}}});
  if (a.qkv_bias)
    specs.push_back({attention + "qkv_proj.bias",
                     {fused},
                     {{attention + "q_proj.bias", {queries}},
                      {attention + "k_proj.bias", {keys}},
                      {attention + "v_proj.bias", {keys}}}});
  specs.push_back(whole(attention + "o_proj.weight", {hidden, queries}));
  if (a.output_bias) specs.push_back(whole(attention + "o_proj.bias", {hidden}));
  specs.push_back(whole(prefix + "post_attention_layernorm.weight", {hidden}));
  specs.push_back(
      {mlp + "gate_up_proj.weight",
       {2 * inner, hidden},
       {{mlp + "gate_proj.weight", {inner, hidden}}, {mlp + "up_proj.weight", {inner, hidden}}}});
  specs.push_back(whole(mlp + "down_proj.weight", {hidden, inner}));
  return specs;
}

std::vector<ParameterSpec> head_parameters(const arch::Architecture& a) {
  std::vector<ParameterSpec> specs{whole("model.norm.weight", {a.hidden_size})};
  if (!a.tie_word_embeddings)
    specs.push_back(whole("lm_head.weight", {a.vocab_size, a.hidden_size}));
  return specs;
}

}  // namespace hairpin::models
