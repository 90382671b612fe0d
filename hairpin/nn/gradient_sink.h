// Where weights' gradients go. Layers' backward passes call these instead of returning gradients to
// autograd: one place for accumulation, bucketed reduction and a split backward. The first addition
// of a step overwrites, so nothing is zeroed beforehand.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hairpin/nn/parameter.h"

namespace hairpin::nn {

// G += dy^T x, the weight's gradient of y = x W^T. dy [T, out], x [T, in]. Put off inside a
// DeferScope.
void sink_matmul(Parameter& parameter, const Tensor& dy, const Tensor& x);

// G += sum over rows of dy [T, out], a bias's gradient, in row order.
void sink_row_sum(Parameter& parameter, const Tensor& dy);

// Lets `add` add into the accumulator itself, which is zeroed first when it holds nothing yet.
void sink_into(Parameter& parameter, const std::function<void(float* gradient)>& add);

// A split backward (Qi et al. 2023): the matrix products of weights' gradients, which nobody waits
// for, kept for later with their factors. What is cheap (biases, norms, the embedding) is never put
// off. Belongs to one rank's thread; the parameters outlive it.
class DeferredGradients {
 public:
  DeferredGradients() = default;
  DeferredGradients(DeferredGradients&&) = default;
  DeferredGradients& operator=(DeferredGradients&&) = default;

  // Adds them to their accumulators, in the order they were put off; afterwards it is empty.
  void run();
  bool empty() const { return products_.empty(); }

 private:
  friend void sink_matmul(Parameter&, const Tensor&, const Tensor&);
  struct Product {
    Parameter* parameter;
    Tensor dy, x;
  };
  std::vector<Product> products_;
};

// While it lives, what the calling thread would sink as a matrix product goes to `into` instead.
class DeferScope {
 public:
  explicit DeferScope(DeferredGradients& into);
  DeferScope(const DeferScope&) = delete;
  DeferScope& operator=(const DeferScope&) = delete;
  ~DeferScope();

 private:
  DeferredGradients* const before_;
};

}  // namespace hairpin::nn
