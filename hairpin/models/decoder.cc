#include "hairpin/models/decoder.h"

#include <ATen/ops/add.h>

#include "hairpin/base/check.h"
#include "hairpin/models/decoder_parameters.h"
#include "hairpin/parallel/linear.h"
#include "hairpin/parallel/vocabulary.h"

namespace hairpin::models {

EmbeddingSegment::EmbeddingSegment(const arch::Architecture& a, const parallel::TensorParallel& tp)
    : Segment(embedding_parameters(a, tp)), vocab_(a.vocab_size), tp_(tp) {}

Tensor EmbeddingSegment::forward(const Tensor&, const MicrobatchInput& input) {
  return parallel::vocabulary_embedding(input.tokens, vocab_, table(), tp_);
}

Tensor EmbeddingSegment::extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) {
  return forward(x, input);
}

LayerSegment::LayerSegment(const arch::Architecture& a, std::int64_t layer,
                           std::shared_ptr<const nn::RotaryTable> rotary,
                           const parallel::TensorParallel& tp)
    : Segment(layer_parameters(a, layer, tp)),
      tp_(tp),
      heads_(local_heads(a, tp)),
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
Tensor LayerSegment::run(const Tensor& x, std::int64_t tokens, Attend attend) {
  const Tensor attended =
      attend(parallel::norm_column_linear(x, tokens, *input_norm_, eps_, *qkv_, qkv_bias_, tp_));
  const Tensor middle = at::add(x, parallel::row_linear(attended, *output_, output_bias_, tp_));
  const Tensor gate_up =
      parallel::norm_column_linear(middle, tokens, *mlp_norm_, eps_, *gate_up_, nullptr, tp_);
  return at::add(middle, parallel::swiglu_row_linear(gate_up, *down_, tp_));
}

Tensor LayerSegment::forward(const Tensor& x, const MicrobatchInput& input) {
  return run(x, input.layout.tokens,
             [&](const Tensor& qkv) { return nn::attention(qkv, input.layout, *rotary_, heads_); });
}

Tensor LayerSegment::extend(const Tensor& x, const MicrobatchInput&, nn::KeyValueCache& cache) {
  return run(x, x.size(0),
             [&](const Tensor& qkv) { return nn::cached_attention(qkv, cache, *rotary_, heads_); });
}

HeadSegment::HeadSegment(const arch::Architecture& a, std::int64_t loss_chunk, nn::Parameter* tied,
                         const parallel::TensorParallel& tp)
    : Segment(head_parameters(a, tied != nullptr, tp)),
      vocab_(a.vocab_size),
      tp_(tp),
      eps_(a.rms_norm_eps),
      loss_chunk_(loss_chunk),
      tied_(tied != nullptr ? std::make_unique<nn::TiedUse>(*tied) : nullptr) {}

Tensor HeadSegment::forward(const Tensor& x, const MicrobatchInput& input) {
  return parallel::vocabulary_head_loss(x, vocab_, bucket()[0], eps_, output(),
                                        {input.targets, input.weights, loss_chunk_}, tp_);
}

Tensor HeadSegment::extend(const Tensor& x, const MicrobatchInput&, nn::KeyValueCache&) {
  return logits(x.narrow(0, x.size(0) - 1, 1));
}

Tensor HeadSegment::logits(const Tensor& x) {
  HAIRPIN_CHECK(tp_.size() == 1, "logits of {} ranks", tp_.size());
  return nn::head_logits(x, bucket()[0], eps_, output());
}

}  // namespace hairpin::models
