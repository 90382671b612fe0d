// For tests: tensor-parallel ranks as threads, and the pieces of whole tensors they hold.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include "hairpin/nn/parameter.h"
#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::parallel {

struct Ranks {
  int size = 1;
  bool sequence = false;
  bool shared_memory = true;  // else the group denies that ranks share memory
};

// The groups that every operator is tested with.
std::vector<Ranks> all_ranks();

inline constexpr double kEps = 1e-5;  // of norms

// What an operator gave: its output and input's gradient, then gradients of its parameters.
using Tensors = std::vector<Tensor>;

// Runs `body` on every rank's own thread, computing with one; results by rank. When one throws, the
// others are ended and it is rethrown.
std::vector<Tensors> on_ranks(const Ranks& ranks,
                              const std::function<Tensors(const TensorParallel&)>& body);

std::ostream& operator<<(std::ostream& out, const Ranks& ranks);

// Seeded normal values.
Tensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed);

// Contiguous copy of a rank's share along `dim`, and of a rank's rows between operators.
Tensor share_of(const Tensor& whole, std::int64_t dim, const TensorParallel& tp);
Tensor rows_of(const Tensor& whole, const TensorParallel& tp);

// A bucket with these values, unnamed.
class Parameters {
 public:
  explicit Parameters(const Tensors& values);
  nn::Parameter& operator[](std::size_t index) { return bucket_[index]; }
  nn::Bucket& bucket() { return bucket_; }

 private:
  nn::Bucket bucket_;
};

// Applies `op` to x, sends dy back; returns y, dx, then all parameters' gradients.
Tensors forward_backward(const Tensor& x, const Tensor& dy, Parameters& parameters,
                         const std::function<Tensor(const Tensor&)>& op);

// Result `index` of all ranks: side by side along `dim`, or summed.
Tensor assembled(const std::vector<Tensors>& results, std::size_t index, std::int64_t dim);
Tensor summed(const std::vector<Tensors>& results, std::size_t index);
// Result `index`, which must have the same bits on every rank.
Tensor common(const std::vector<Tensors>& results, std::size_t index);
// Rows between operators: common, or with sequence parallelism assembled.
Tensor whole_rows_of(const std::vector<Tensors>& results, std::size_t index, const Ranks& ranks);

// |got - want| / |want|, in fp64.
testing::AssertionResult close(const Tensor& got, const Tensor& want, double tolerance = 2e-6);

}  // namespace hairpin::parallel
