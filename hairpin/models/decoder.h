// The dense decoder of Llama and Qwen2 (they differ in biases only, which arch::Architecture says):
//
//   x = embedding(tokens)
//   per layer:  x = x + o(attention(rotary(qkv(norm(x)))));  x = x + down(swiglu(gate_up(norm(x))))
//   loss = cross_entropy(output(norm(x)))
#pragma once

#include <cstdint>
#include <memory>

#include "hairpin/arch/architecture.h"
#include "hairpin/models/segment.h"
#include "hairpin/nn/rotary.h"

namespace hairpin::models {

class EmbeddingSegment : public Segment {
 public:
  explicit EmbeddingSegment(const arch::Architecture& architecture);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) override;
  nn::Parameter& table() { return bucket()[0]; }
};

class LayerSegment : public Segment {
 public:
  LayerSegment(const arch::Architecture& architecture, std::int64_t layer,
               std::shared_ptr<const nn::RotaryTable> rotary);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache& cache) override;
  const nn::HeadShape& heads() const { return heads_; }

 private:
  template <class Attend>
  Tensor run(const Tensor& x, Attend attend);
  nn::HeadShape heads_;
  double eps_;
  std::shared_ptr<const nn::RotaryTable> rotary_;
  nn::Parameter *input_norm_, *qkv_, *qkv_bias_, *output_, *output_bias_, *mlp_norm_, *gate_up_,
      *down_;
};

class HeadSegment : public Segment {
 public:
  // With tied embeddings `tied` is the embedding's table on the same rank; else null.
  HeadSegment(const arch::Architecture& architecture, std::int64_t loss_chunk, nn::Parameter* tied);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) override;
  Tensor logits(const Tensor& x);  // [T, vocab]; no gradients
  nn::TiedUse* tied() { return tied_.get(); }

 private:
  nn::Parameter& output() { return tied_ ? tied_->parameter() : bucket()[1]; }
  double eps_;
  std::int64_t loss_chunk_;
  std::unique_ptr<nn::TiedUse> tied_;
};

}  // namespace hairpin::models
