#include "hairpin/parallel/test_ranks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <exception>
#include <mutex>
#include <thread>

#include "hairpin/collective/local.h"
#include "hairpin/parallel/watched_group.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::parallel {

std::vector<Ranks> all_ranks() {
  std::vector<Ranks> all;
  for (const int size : {1, 2, 3, 4})
    for (const bool sequence : {false, true}) all.push_back({size, sequence});
  all.push_back({.size = 3, .sequence = true, .shared_memory = false});
  return all;
}

std::vector<Tensors> on_ranks(const Ranks& ranks,
                              const std::function<Tensors(const TensorParallel&)>& body) {
  collective::LocalWorld world;
  const auto groups = world.make_group(ranks.size, "test group");
  std::vector<Tensors> results(groups.size());
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        set_compute_threads(1);
        WatchedGroup group(*groups[rank], {.shares_memory = ranks.shared_memory});
        results[rank] = body({.group = &group, .sequence = ranks.sequence});
      } catch (const std::exception& error) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        world.fail({ErrorKind::internal, error.what()});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  return results;
}

std::ostream& operator<<(std::ostream& out, const Ranks& ranks) {
  return out << ranks.size << " ranks" << (ranks.sequence ? ", sequence" : "")
             << (ranks.shared_memory ? "" : ", copied");
}

Tensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::kFloat);
}

Tensor share_of(const Tensor& whole, std::int64_t dim, const TensorParallel& tp) {
  const auto share = mesh::share(whole.size(dim), tp.size(), tp.rank());
  return whole.narrow(dim, share.begin, share.count).contiguous();
}

Tensor rows_of(const Tensor& whole, const TensorParallel& tp) {
  const auto rows = tp.rows(whole.size(0));
  return whole.narrow(0, rows.begin, rows.count).contiguous();
}

namespace {

std::vector<nn::ParameterSpec> specs_of(const Tensors& values) {
  std::vector<nn::ParameterSpec> specs;
  for (const auto& value : values) specs.push_back({"parameter", value.sizes().vec(), {}});
  return specs;
}

}  // namespace

Parameters::Parameters(const Tensors& values) : bucket_(specs_of(values)) {
  for (std::size_t i = 0; i < values.size(); ++i) bucket_[i].value.copy_(values[i]);
}

Tensors forward_backward(const Tensor& x, const Tensor& dy, Parameters& parameters,
                         const std::function<Tensor(const Tensor&)>& op) {
  const Tensor leaf = x.clone().requires_grad_();
  const Tensor y = op(leaf);
  torch::autograd::backward({y}, {dy});
  Tensors results{y.detach(), leaf.grad()};
  parameters.bucket().complete_gradients();
  for (const auto& parameter : parameters.bucket().parameters())
    results.push_back(parameter.gradient.clone());
  return results;
}

Tensor assembled(const std::vector<Tensors>& results, std::size_t index, std::int64_t dim) {
  Tensors parts;
  for (const auto& result : results) parts.push_back(result[index]);
  return at::cat(parts, dim);
}

Tensor summed(const std::vector<Tensors>& results, std::size_t index) {
  Tensor sum = results[0][index].to(at::kDouble);
  for (std::size_t rank = 1; rank < results.size(); ++rank) sum = sum.add(results[rank][index]);
  return sum;
}

Tensor common(const std::vector<Tensors>& results, std::size_t index) {
  for (const auto& result : results) EXPECT_TRUE(result[index].equal(results[0][index]));
  return results[0][index];
}

Tensor whole_rows_of(const std::vector<Tensors>& results, std::size_t index, const Ranks& ranks) {
  return ranks.sequence ? assembled(results, index, 0) : common(results, index);
}

testing::AssertionResult close(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.sizes() != want.sizes()) return testing::AssertionFailure() << "another shape";
  const double size = want.to(at::kDouble).norm().item<double>();
  const double error = got.to(at::kDouble).sub(want.to(at::kDouble)).norm().item<double>();
  if (error <= tolerance * size) return testing::AssertionSuccess();
  return testing::AssertionFailure() << error / size << " of its norm away";
}

}  // namespace hairpin::parallel
