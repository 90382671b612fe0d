// The decoder with segments and sinks against the same model in plain LibTorch autograd: loss and
// every parameter's gradient.
#include "hairpin/models/decoder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <map>
#include <string>

#include "hairpin/models/model_part.h"

namespace hairpin::models {
namespace {

using arch::Architecture;

Architecture tiny(bool qwen2, bool tied, std::int64_t kv_heads = 2) {
  return {.model_type = qwen2 ? "qwen2" : "llama",
          .hidden_size = 48,
          .intermediate_size = 80,
          .num_hidden_layers = 3,
          .num_attention_heads = 4,
          .num_key_value_heads = kv_heads,
          .head_dim = 12,
          .vocab_size = 331,
          .max_position_embeddings = 512,
          .rms_norm_eps = 1e-5,
          .rope_theta = 10000.0,
          .tie_word_embeddings = tied,
          .qkv_bias = qwen2,
          .output_bias = false};
}

void randomize(ModelPart& model) {
  at::manual_seed(7);
  for (auto* bucket : model.buckets())
    for (auto& parameter : bucket->parameters()) {
      parameter.value.normal_(0.0, 0.05);
      if (parameter.spec.name.find("norm") != std::string::npos) parameter.value.add_(1.0);
    }
}

MicrobatchInput packed_input(const std::vector<std::int64_t>& lengths, std::int64_t vocab) {
  MicrobatchInput input;
  std::uint32_t state = 12345;
  for (const auto length : lengths) {
    input.layout.append(length);
    for (std::int64_t i = 0; i < length; ++i) {
      state = state * 1664525u + 1013904223u;
      input.tokens.push_back(static_cast<std::int32_t>(state >> 8) %
                             static_cast<std::int32_t>(vocab));
      const bool trained = i + 1 < length && i % 3 != 0;
      input.targets.push_back(
          trained ? static_cast<std::int32_t>((state >> 9) % static_cast<std::uint32_t>(vocab))
                  : -1);
      input.weights.push_back(trained ? 0.01f * static_cast<float>(1 + i % 5) : 0.0f);
    }
  }
  return input;
}

// Loss and gradients as this library computes them.
double run_segments(ModelPart& model, std::int64_t segments, const MicrobatchInput& input) {
  model.begin_step();
  std::vector<std::pair<Tensor, Tensor>> islands;
  Tensor x;
  for (std::int64_t i = 0; i < segments; ++i) {
    Tensor leaf = x.defined() ? x.detach().requires_grad_() : Tensor();
    Tensor y = model.segment(i).forward(leaf, input);
    islands.emplace_back(leaf, y);
    x = y;
  }
  const double loss = x.item<double>();
  Tensor gradient = at::ones({}, at::kDouble);
  for (std::int64_t i = segments - 1; i > 0; --i) {
    auto& [leaf, y] = islands[static_cast<std::size_t>(i)];
    gradient = torch::autograd::grad({y}, {leaf}, {gradient})[0];
  }
  torch::autograd::backward({islands[0].second}, {gradient});
  model.finish_gradients();
  return loss;
}

// The same model with ordinary tensors that require gradients, in fp64: the two differ by the
// rounding of fp32, which plain fp32 autograd has as well (about 7e-7 here).
struct Reference {
  const Architecture& a;
  std::map<std::string, Tensor> weights;

  Reference(const Architecture& architecture, ModelPart& model) : a(architecture) {
    for (auto* bucket : model.buckets())
      for (auto& parameter : bucket->parameters())
        weights[parameter.spec.name] = parameter.value.to(at::kDouble).requires_grad_();
  }
  Tensor norm(const Tensor& x, const std::string& name) {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + a.rms_norm_eps) * weights.at(name);
  }
  Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {  // [heads, n, d]
    const auto half = a.head_dim / 2;
    const Tensor x1 = x.narrow(2, 0, half), x2 = x.narrow(2, half, half);
    return at::cat({x1 * cos - x2 * sin, x2 * cos + x1 * sin}, 2);
  }
  Tensor attend(const Tensor& qkv) {  // one segment
    const auto n = qkv.size(0), d = a.head_dim, q_width = a.num_attention_heads * d,
               k_width = a.num_key_value_heads * d;
    const auto heads = [&](std::int64_t offset, std::int64_t width) {
      return qkv.narrow(1, offset, width).view({n, width / d, d}).transpose(0, 1);
    };
    const Tensor power = at::arange(0, d, 2, at::kDouble) / static_cast<double>(d);
    const Tensor angle = at::outer(at::arange(n, at::kDouble), at::pow(a.rope_theta, -power));
    const auto group = a.num_attention_heads / a.num_key_value_heads;
    const Tensor q = rotate(heads(0, q_width), angle.cos(), angle.sin());
    const Tensor k =
        rotate(heads(q_width, k_width), angle.cos(), angle.sin()).repeat_interleave(group, 0);
    const Tensor v = heads(q_width + k_width, k_width).repeat_interleave(group, 0);
    const Tensor mask = at::full({n, n}, -INFINITY, at::kDouble).triu(1);
    const Tensor p =
        at::softmax(at::matmul(q, k.transpose(1, 2)) / std::sqrt(double(d)) + mask, -1);
    return at::matmul(p, v).transpose(0, 1).reshape({n, q_width});
  }
  Tensor layer(const Tensor& x, std::int64_t i, const nn::PackedLayout& layout) {
    const auto prefix = "model.layers." + std::to_string(i) + ".";
    Tensor qkv = at::matmul(norm(x, prefix + "input_layernorm.weight"),
                            weights.at(prefix + "self_attn.qkv_proj.weight").t());
    if (a.qkv_bias) qkv = qkv + weights.at(prefix + "self_attn.qkv_proj.bias");
    std::vector<Tensor> parts;
    for (const auto& segment : layout.segments)
      parts.push_back(attend(qkv.narrow(0, segment.begin, segment.length)));
    const Tensor middle =
        x + at::matmul(at::cat(parts, 0), weights.at(prefix + "self_attn.o_proj.weight").t());
    const Tensor gate_up = at::matmul(norm(middle, prefix + "post_attention_layernorm.weight"),
                                      weights.at(prefix + "mlp.gate_up_proj.weight").t());
    const auto inner = a.intermediate_size;
    const Tensor h = at::silu(gate_up.narrow(1, 0, inner)) * gate_up.narrow(1, inner, inner);
    return middle + at::matmul(h, weights.at(prefix + "mlp.down_proj.weight").t());
  }
  double run(const MicrobatchInput& input) {
    const Tensor tokens = at::tensor(input.tokens, at::kInt).to(at::kLong);
    Tensor x = weights.at("model.embed_tokens.weight").index_select(0, tokens);
    for (std::int64_t i = 0; i < a.num_hidden_layers; ++i) x = layer(x, i, input.layout);
    const auto& output =
        weights.at(a.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    const Tensor logp = at::log_softmax(at::matmul(norm(x, "model.norm.weight"), output.t()), -1);
    Tensor loss = at::zeros({}, at::kDouble);
    for (std::size_t t = 0; t < input.targets.size(); ++t)
      if (input.targets[t] >= 0)
        loss = loss - static_cast<double>(input.weights[t]) *
                          logp.select(0, static_cast<std::int64_t>(t)).select(0, input.targets[t]);
    torch::autograd::backward({loss}, {});
    return loss.item<double>();
  }
};

class DecoderGradients : public testing::TestWithParam<std::tuple<bool, bool, int>> {};

TEST_P(DecoderGradients, EqualPlainAutograd) {
  const auto [qwen2, tied, kv_heads] = GetParam();
  const Architecture a = tiny(qwen2, tied, kv_heads);
  const auto count = a.num_hidden_layers + 2;
  ModelPart model(a, {{0, count}}, {.positions = 512, .loss_chunk = 16});
  randomize(model);
  const auto input = packed_input({40, 1, 7, 150, 2}, a.vocab_size);

  Reference reference(a, model);
  const double expected = reference.run(input);
  const double loss = run_segments(model, count, input);
  EXPECT_NEAR(loss, expected, 1e-6 * std::abs(expected));
  for (auto* bucket : model.buckets())
    for (auto& parameter : bucket->parameters()) {
      const Tensor want = reference.weights.at(parameter.spec.name).grad();
      const Tensor got = parameter.gradient.to(at::kDouble);
      const double error = (got - want).norm().item<double>() / want.norm().item<double>();
      EXPECT_LE(error, 1e-6) << parameter.spec.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DecoderGradients,
                         testing::Combine(testing::Bool(), testing::Bool(),
                                          testing::Values(1, 2, 4)));

TEST(Decoder, ExtendEqualsForward) {
  const Architecture a = tiny(true, false);
  const auto count = a.num_hidden_layers + 2;
  ModelPart model(a, {{0, count}}, {.positions = 512});
  randomize(model);
  const auto input = packed_input({20}, a.vocab_size);
  const at::NoGradGuard no_grad;

  Tensor x;
  for (std::int64_t i = 0; i + 1 < count; ++i) x = model.segment(i).forward(x, input);
  const Tensor want = model.head()->logits(x);

  std::vector<nn::KeyValueCache> caches;
  const nn::HeadShape shape{a.num_attention_heads, a.num_key_value_heads, a.head_dim};
  for (std::int64_t i = 0; i < count; ++i) caches.emplace_back(20, shape);
  const auto extend = [&](std::int64_t begin, std::int64_t end) {
    MicrobatchInput more;
    more.tokens.assign(input.tokens.begin() + begin, input.tokens.begin() + end);
    Tensor y;
    for (std::int64_t i = 0; i < count; ++i)
      y = model.segment(i).extend(y, more, caches[static_cast<std::size_t>(i)]);
    return y.select(0, 0);
  };
  for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{0, 13}, {13, 14}, {14, 20}}) {
    const Tensor got = extend(begin, end);
    EXPECT_LE((got - want.select(0, end - 1)).abs().max().item<float>(), 1e-5f) << end;
  }
}

TEST(Decoder, AFullyMaskedMicrobatchContributesNothing) {
  const Architecture a = tiny(false, true);
  const auto count = a.num_hidden_layers + 2;
  ModelPart model(a, {{0, count}}, {.positions = 64});
  randomize(model);
  auto input = packed_input({9, 9}, a.vocab_size);
  std::fill(input.targets.begin(), input.targets.end(), -1);
  EXPECT_EQ(run_segments(model, count, input), 0.0);
  for (auto* bucket : model.buckets())
    EXPECT_EQ(bucket->gradients().abs().max().item<float>(), 0.0f);
}

}  // namespace
}  // namespace hairpin::models
