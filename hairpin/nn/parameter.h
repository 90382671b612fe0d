// Parameters and where their gradients go.
//
// A bucket is the parameters of one segment (embedding, one layer, head) in flat fp32 buffers:
// values and gradient accumulators, each parameter starting on a 64-byte boundary, gaps zero.
// Reductions, optimizers and norms work on the flat buffers; layers use the views.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hairpin/mesh/share.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::nn {

// The rows of a parameter that come from one Hugging Face tensor (q, k and v are parts of one qkv):
// all of that tensor or, in a tensor-parallel group, a slice of it.
struct ParameterPart {
  std::string hf_name;
  std::vector<std::int64_t> hf_shape;  // of the whole tensor
  int dim = 0;                         // the dimension that is sliced
  mesh::Range slice;                   // of hf_shape[dim]
  // Ranks that hold this very slice, and which of them this is: copy 0 counts in norms and exports.
  // With `partial` they are neighbours in the tensor-parallel group and each computes a share of
  // the gradient, to be summed (parallel/partial_gradients.h).
  int copies = 1, copy = 0;
  bool partial = false;

  std::vector<std::int64_t> shape() const;  // of the slice
};
ParameterPart whole_part(std::string hf_name, std::vector<std::int64_t> hf_shape);

struct ParameterSpec {
  std::string name;                  // global: "layers.3.qkv.weight"
  std::vector<std::int64_t> shape;   // rows (and columns)
  std::vector<ParameterPart> parts;  // in row order; together all rows
};

// Not thread-safe: a parameter belongs to one rank's thread.
struct Parameter {
  ParameterSpec spec;
  Tensor value;               // view into the bucket's values
  Tensor gradient;            // view into the bucket's gradients; valid when `has_gradient`
  bool has_gradient = false;  // something was added since the step began

  // Rows of `value` that are part `index`, and those of `gradient`.
  Tensor part(std::size_t index) const;
  Tensor part_gradient(std::size_t index) const;
};

class Bucket {
 public:
  // Values are zero; gradients are uninitialised but for the gaps.
  explicit Bucket(std::vector<ParameterSpec> specs);
  Bucket(const Bucket&) = delete;

  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  Parameter& operator[](std::size_t index) { return parameters_[index]; }
  Tensor values() const { return values_; }        // flat [n]
  Tensor gradients() const { return gradients_; }  // flat [n]

  // Zeroes the accumulators that got nothing, so that `gradients` is whole. Before an optimizer.
  void complete_gradients();
  // Forgets the gradients; the next addition to each overwrites.
  void begin_step();

 private:
  Tensor values_, gradients_;
  std::vector<Parameter> parameters_;
};

// A second use of another parameter's value (a tied output head): the same value, an accumulator
// of its own, so that the order in which the two uses' gradients arrive cannot matter.
class TiedUse {
 public:
  explicit TiedUse(Parameter& source);
  Parameter& parameter() { return use_; }
  // source.gradient += own gradient, once at the end of a step.
  void fold_gradient();
  void begin_step() { use_.has_gradient = false; }

 private:
  Parameter& source_;
  Parameter use_;
};

}  // namespace hairpin::nn
