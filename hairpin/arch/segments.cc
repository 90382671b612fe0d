#include "hairpin/arch/architecture.h"

namespace hairpin::arch {
namespace {

// y = x W^T (+ b), with Hugging Face's [out, in] weight.
void add_linear(std::vector<TensorSpec>& tensors, const std::string& name, std::int64_t out,
                std::int64_t in, bool bias) {
  tensors.push_back({name + ".weight", {out, in}});
  if (bias) tensors.push_back({name + ".bias", {out}});
}

SegmentSpec decoder_layer(const Architecture& a, std::int64_t layer) {
  const auto prefix = fmt::format("model.layers.{}.", layer);
  const auto queries = a.num_attention_heads * a.head_dim;
  const auto keys = a.num_key_value_heads * a.head_dim;
  SegmentSpec segment{SegmentSpec::Kind::layer, layer, {}};
  auto& tensors = segment.tensors;
  tensors.push_back({prefix + "input_layernorm.weight", {a.hidden_size}});
  add_linear(tensors, prefix + "self_attn.q_proj", queries, a.hidden_size, a.qkv_bias);
  add_linear(tensors, prefix + "self_attn.k_proj", keys, a.hidden_size, a.qkv_bias);
  add_linear(tensors, prefix + "self_attn.v_proj", keys, a.hidden_size, a.qkv_bias);
  add_linear(tensors, prefix + "self_attn.o_proj", a.hidden_size, queries, a.output_bias);
  tensors.push_back({prefix + "post_attention_layernorm.weight", {a.hidden_size}});
  add_linear(tensors, prefix + "mlp.gate_proj", a.intermediate_size, a.hidden_size, false);
  add_linear(tensors, prefix + "mlp.up_proj", a.intermediate_size, a.hidden_size, false);
  add_linear(tensors, prefix + "mlp.down_proj", a.hidden_size, a.intermediate_size, false);
  return segment;
}

}  // namespace

std::vector<SegmentSpec> segments(const Architecture& a) {
  std::vector<SegmentSpec> all;
  all.push_back({SegmentSpec::Kind::embedding,
                 -1,
                 {{"model.embed_tokens.weight", {a.vocab_size, a.hidden_size}}}});
  for (std::int64_t layer = 0; layer < a.num_hidden_layers; ++layer)
    all.push_back(decoder_layer(a, layer));
  SegmentSpec head{SegmentSpec::Kind::head, -1, {{"model.norm.weight", {a.hidden_size}}}};
  if (!a.tie_word_embeddings)
    head.tensors.push_back({"lm_head.weight", {a.vocab_size, a.hidden_size}});
  all.push_back(std::move(head));
  return all;
}

}  // namespace hairpin::arch
