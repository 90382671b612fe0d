// Optimizers over the buckets of one rank. State is flat per bucket, like values and gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hairpin/nn/parameter.h"

namespace hairpin::optim {

struct OptimizerOptions {
  enum class Kind { adamw, sgd } kind = Kind::adamw;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adamw
  double momentum = 0.0;                              // sgd
  double weight_decay = 0.0;  // of matrices only: norms and biases are not decayed
};

// Not thread-safe; belongs to one rank.
class Optimizer {
 public:
  // The buckets must outlive the optimizer.
  Optimizer(std::vector<nn::Bucket*> buckets, const OptimizerOptions& options);

  // One update from the buckets' whole gradients, each multiplied with `gradient_scale`.
  void step(double learning_rate, double gradient_scale);

 private:
  struct State {
    nn::Bucket* bucket;
    Tensor first, second;  // moments; undefined where the kind has none
  };
  void update(State& state, const nn::Parameter& parameter, double learning_rate,
              double gradient_scale);

  OptimizerOptions options_;
  std::vector<State> states_;
  std::int64_t steps_ = 0;
};

}  // namespace hairpin::optim
