#include "hairpin/models/decoder_parameters.h"

#include <fmt/core.h>

#include "hairpin/arch/divide.h"

namespace hairpin::models {
namespace {

using nn::ParameterPart;
using nn::ParameterSpec;
using parallel::TensorParallel;

// The slices of one tensor-parallel rank.
class Slices {
 public:
  Slices(const arch::Architecture& a, const TensorParallel& tp) : a_(a), tp_(tp) {}

  ParameterPart rows(std::string name, std::vector<std::int64_t> shape) const {
    return sliced(std::move(name), std::move(shape), 0);
  }
  ParameterPart columns(std::string name, std::vector<std::int64_t> shape) const {
    return sliced(std::move(name), std::move(shape), 1);
  }
  // Of k or v: whole heads, a head on several ranks where there are fewer heads than ranks.
  ParameterPart key_rows(std::string name, std::vector<std::int64_t> shape) const {
    const auto copies = arch::key_value_copies(a_, tp_.size());
    if (copies == 1) return rows(std::move(name), std::move(shape));
    auto part = nn::whole_part(std::move(name), std::move(shape));
    part.copies = static_cast<int>(copies);
    part.copy = tp_.rank() % part.copies;
    part.partial = true;
    part.slice = {tp_.rank() / part.copies * a_.head_dim, a_.head_dim};
    return part;
  }
  // The same on all ranks; a norm's gradient comes from a rank's own rows of tokens.
  ParameterPart norm(std::string name) const {
    auto part = bias(std::move(name));
    part.partial = tp_.scattered();
    return part;
  }
  ParameterPart bias(std::string name) const {
    auto part = nn::whole_part(std::move(name), {a_.hidden_size});
    part.copies = tp_.size();
    part.copy = tp_.rank();
    return part;
  }

 private:
  ParameterPart sliced(std::string name, std::vector<std::int64_t> shape, int dim) const {
    auto part = nn::whole_part(std::move(name), std::move(shape));
    part.dim = dim;
    part.slice = mesh::share(part.hf_shape[static_cast<std::size_t>(dim)], tp_.size(), tp_.rank());
    return part;
  }
  const arch::Architecture& a_;
  const TensorParallel& tp_;
};

ParameterSpec single(ParameterPart part) { return {part.hf_name, part.shape(), {part}}; }

// Parts below one another, as one parameter.
ParameterSpec fused(std::string name, std::vector<ParameterPart> parts) {
  auto shape = parts.front().shape();
  shape[0] = 0;
  for (const auto& part : parts) shape[0] += part.slice.count;
  return {std::move(name), std::move(shape), std::move(parts)};
}

}  // namespace

nn::HeadShape local_heads(const arch::Architecture& a, const TensorParallel& tp) {
  return {a.num_attention_heads / tp.size(), arch::key_value_heads_of_rank(a, tp.size()),
          a.head_dim};
}

std::vector<ParameterSpec> embedding_parameters(const arch::Architecture& a,
                                                const TensorParallel& tp) {
  return {single(Slices(a, tp).rows("model.embed_tokens.weight", {a.vocab_size, a.hidden_size}))};
}

std::vector<ParameterSpec> layer_parameters(const arch::Architecture& a, std::int64_t layer,
                                            const TensorParallel& tp) {
  const Slices slices(a, tp);
  const auto prefix = fmt::format("model.layers.{}.", layer);
  const auto attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  const auto hidden = a.hidden_size, inner = a.intermediate_size;
  const auto queries = a.num_attention_heads * a.head_dim;
  const auto keys = a.num_key_value_heads * a.head_dim;

  std::vector<ParameterSpec> specs;
  specs.push_back(single(slices.norm(prefix + "input_layernorm.weight")));
  specs.push_back(fused(attention + "qkv_proj.weight",
                        {slices.rows(attention + "q_proj.weight", {queries, hidden}),
                         slices.key_rows(attention + "k_proj.weight", {keys, hidden}),
                         slices.key_rows(attention + "v_proj.weight", {keys, hidden})}));
  if (a.qkv_bias)
    specs.push_back(
        fused(attention + "qkv_proj.bias", {slices.rows(attention + "q_proj.bias", {queries}),
                                            slices.key_rows(attention + "k_proj.bias", {keys}),
                                            slices.key_rows(attention + "v_proj.bias", {keys})}));
  specs.push_back(single(slices.columns(attention + "o_proj.weight", {hidden, queries})));
  if (a.output_bias) specs.push_back(single(slices.bias(attention + "o_proj.bias")));
  specs.push_back(single(slices.norm(prefix + "post_attention_layernorm.weight")));
  specs.push_back(
      fused(mlp + "gate_up_proj.weight", {slices.rows(mlp + "gate_proj.weight", {inner, hidden}),
                                          slices.rows(mlp + "up_proj.weight", {inner, hidden})}));
  specs.push_back(single(slices.columns(mlp + "down_proj.weight", {hidden, inner})));
  return specs;
}

std::vector<ParameterSpec> head_parameters(const arch::Architecture& a, bool holds_embedding,
                                           const TensorParallel& tp) {
  const Slices slices(a, tp);
  std::vector<ParameterSpec> specs{single(slices.norm("model.norm.weight"))};
  const std::vector<std::int64_t> shape{a.vocab_size, a.hidden_size};
  if (!a.tie_word_embeddings) {
    specs.push_back(single(slices.rows("lm_head.weight", shape)));
  } else if (!holds_embedding) {
    auto copy = slices.rows("model.embed_tokens.weight", shape);
    copy.copies = 2;
    copy.copy = 1;
    specs.push_back(single(std::move(copy)));
  }
  return specs;
}

}  // namespace hairpin::models
