// The dense decoder of Llama and Qwen2 (they differ in biases only, which arch::Architecture says):
//
//   x = embedding(tokens)
//   per layer:  x = x + o(attention(rotary(qkv(norm(x)))));  x = x + down(swiglu(gate_up(norm(x))))
//   loss = cross_entropy(output(norm(x)))
//
// The code is that of one device; the operators of parallel/ are those of nn/ on one rank, and
// decoder_parameters.h says what of each parameter a rank of a tensor-parallel group holds. Then x
// is tp.rows(T) x hidden.
#pragma once

#include <cstdint>
#include <memory>

#include "hairpin/arch/architecture.h"
#include "hairpin/models/segment.h"
#include "hairpin/nn/rotary.h"
#include "hairpin/parallel/tensor_parallel.h"

namespace hairpin::models {

class EmbeddingSegment : public Segment {
 public:
  EmbeddingSegment(const arch::Architecture& architecture, const parallel::TensorParallel& tp);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) override;
  nn::Parameter& table() { return bucket()[0]; }

 private:
  std::int64_t vocab_;
  parallel::TensorParallel tp_;
};

class LayerSegment : public Segment {
 public:
  LayerSegment(const arch::Architecture& architecture, std::int64_t layer,
               std::shared_ptr<const nn::RotaryTable> rotary, const parallel::TensorParallel& tp);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache& cache) override;
  const nn::HeadShape& heads() const { return heads_; }

 private:
  template <class Attend>
  Tensor run(const Tensor& x, std::int64_t tokens, Attend attend);
  parallel::TensorParallel tp_;
  nn::HeadShape heads_;  // of this rank
  double eps_;
  std::shared_ptr<const nn::RotaryTable> rotary_;
  nn::Parameter *input_norm_, *qkv_, *qkv_bias_, *output_, *output_bias_, *mlp_norm_, *gate_up_,
      *down_;
};

class HeadSegment : public Segment {
 public:
  // With tied embeddings `tied` is the embedding's table if that is on the same rank; else null.
  HeadSegment(const arch::Architecture& architecture, std::int64_t loss_chunk, nn::Parameter* tied,
              const parallel::TensorParallel& tp);
  Tensor forward(const Tensor& x, const MicrobatchInput& input) override;
  Tensor extend(const Tensor& x, const MicrobatchInput& input, nn::KeyValueCache&) override;
  Tensor logits(const Tensor& x);  // [T, vocab]; no gradients; one rank only
  nn::TiedUse* tied() { return tied_.get(); }

 private:
  nn::Parameter& output() { return tied_ ? tied_->parameter() : bucket()[1]; }
  std::int64_t vocab_;
  parallel::TensorParallel tp_;
  double eps_;
  std::int64_t loss_chunk_;
  std::unique_ptr<nn::TiedUse> tied_;
};

}  // namespace hairpin::models
