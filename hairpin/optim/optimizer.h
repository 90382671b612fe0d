// Optimizers over a rank's buckets, or over the shares of them that it owns (ZeRO). State is flat
// per range, like values and gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hairpin/mesh/share.h"
#include "hairpin/nn/parameter.h"

namespace hairpin::optim {

struct OptimizerOptions {
  enum class Kind { adamw, sgd } kind = Kind::adamw;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adamw
  double momentum = 0.0;                              // sgd
  double weight_decay = 0.0;  // of matrices only: norms and biases are not decayed
};

// Flat elements of a bucket that this rank updates. The rest belong to other replicas.
struct OwnedRange {
  nn::Bucket* bucket;
  mesh::Range range;
};
std::vector<OwnedRange> whole_ranges(const std::vector<nn::Bucket*>& buckets);

// Not thread-safe; belongs to one rank.
class Optimizer {
 public:
  // The buckets must outlive the optimizer. An element's bits do not depend on the ranges.
  Optimizer(const std::vector<OwnedRange>& owned, const OptimizerOptions& options);

  // One update of what is owned from its gradients, each multiplied with `gradient_scale`.
  void step(double learning_rate, double gradient_scale);

 private:
  struct State {
    OwnedRange owned;
    Tensor first, second;  // moments [range.count]; undefined where the kind has none
  };
  void update(State& state, const nn::Parameter& parameter, double learning_rate,
              double gradient_scale);

  OptimizerOptions options_;
  std::vector<State> states_;
  std::int64_t steps_ = 0;
};

}  // namespace hairpin::optim
