#include "hairpin/models/decoder.h"

#include <ATen/ops/add.h>

#include "hairpin/models/decoder_parameters.h"
#include "hairpin/nn/embedding.h"
#include "hairpin/nn/head_loss.h"
#include "hairpin/nn/linear.h"

namespace hairpin::models {

EmbeddingSegment::EmbeddingSegment(const arch::Architecture& architecture)
    : Segment(embedding_parameters(architecture)) {}

Tensor EmbeddingSegment::forward(const Tensor&, const MicrobatchInput& input) {
  return nn::embedding(input.tokens, table());
}

Tensor EmbeddingSegment::extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) {
  return forward(x, input);
}

LayerSegment::LayerSegment(const arch::Architecture& a, std::int64_t layer,
                           std::shared_ptr<const nn::RotaryTable> rotary)
    : Segment(layer_parameters(a, layer)),
      heads_{a.num_attention_heads, a.num_key_value_heads, a.head_dim},
      eps_(a.rms_norm_eps),
      rotary_(std::move(rotary)) {
  std::size_t next = 0;
  const auto take = [&] { return &bucket()[next++]; };
  input_norm_ = take();
  qkv_ = take();
  qkv_bias_ = a.qkv_bias ? take() : nullptr;
  output_ = take();
  output_bias_ = a.output_bias ? take() : nullptr;
  mlp_norm_ = take();
  gate_up_ = take();
  down_ = take();
}

template <class Attend>
Tensor LayerSegment::run(const Tensor& x, Attend attend) {
  const Tensor attended = attend(nn::norm_linear(x, *input_norm_, eps_, *qkv_, qkv_bias_));
  const Tensor middle = at::add(x, nn::linear(attended, *output_, output_bias_));
  const Tensor gate_up = nn::norm_linear(middle, *mlp_norm_, eps_, *gate_up_, nullptr);
  return at::add(middle, nn::swiglu_linear(gate_up, *down_));
}

Tensor LayerSegment::forward(const Tensor& x, const MicrobatchInput& input) {
  return run(x,
             [&](const Tensor& qkv) { return nn::attention(qkv, input.layout, *rotary_, heads_); });
}

Tensor LayerSegment::extend(const Tensor& x, const MicrobatchInput&, nn::KeyValueCache& cache) {
  return run(x,
             [&](const Tensor& qkv) { return nn::cached_attention(qkv, cache, *rotary_, heads_); });
}

HeadSegment::HeadSegment(const arch::Architecture& a, std::int64_t loss_chunk, nn::Parameter* tied)
    : Segment(head_parameters(a)),
      eps_(a.rms_norm_eps),
      loss_chunk_(loss_chunk),
      tied_(tied != nullptr ? std::make_unique<nn::TiedUse>(*tied) : nullptr) {}

Tensor HeadSegment::forward(const Tensor& x, const MicrobatchInput& input) {
  return nn::head_loss(x, bucket()[0], eps_, output(), {input.targets, input.weights, loss_chunk_});
}

Tensor HeadSegment::extend(const Tensor& x, const MicrobatchInput&, nn::KeyValueCache&) {
  return logits(x.narrow(0, x.size(0) - 1, 1));
}

Tensor HeadSegment::logits(const Tensor& x) {
  return nn::head_logits(x, bucket()[0], eps_, output());
}

}  // namespace hairpin::models
