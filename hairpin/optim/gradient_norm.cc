#include "hairpin/optim/gradient_norm.h"

#include <algorithm>
#include <cmath>

#include "hairpin/base/check.h"
#include "hairpin/optim/optimizer_kernels.h"

namespace hairpin::optim {
namespace {

// The flat elements of copies that count elsewhere, ascending.
std::vector<mesh::Range> counted_elsewhere(const nn::Bucket& bucket) {
  std::vector<mesh::Range> ranges;
  for (const auto& parameter : bucket.parameters())
    for (std::size_t i = 0; i < parameter.spec.parts.size(); ++i) {
      if (parameter.spec.parts[i].copy == 0) continue;
      const Tensor part = parameter.part_gradient(i);
      ranges.push_back({part.storage_offset(), part.numel()});
    }
  return ranges;
}

// Calls `body` with each longest run of elements of `owned` that count here, ascending.
template <typename Body>
void for_each_run(const nn::Bucket& bucket, mesh::Range owned, const Body& body) {
  auto next = owned.begin;
  const auto until = [&](std::int64_t end) {
    end = std::min(end, owned.end());
    if (next < end) body(mesh::Range{next, end - next});
  };
  for (const auto& skipped : counted_elsewhere(bucket)) {
    until(skipped.begin);
    next = std::max(next, skipped.end());
  }
  until(owned.end());
}

// Not std::max, which drops a NaN on one of its sides.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

double norm_term(const nn::Bucket& bucket, mesh::Range owned, NormType type) {
  const Tensor gradients = bucket.gradients();
  HAIRPIN_CHECK(owned.begin >= 0 && owned.count >= 0 && owned.end() <= gradients.numel(),
                "elements {} to {} of {}", owned.begin, owned.end(), gradients.numel());
  const auto* array = gradients.const_data_ptr<float>();
  if (type == NormType::infinity) {
    double most = 0;
    for_each_run(bucket, owned,
                 [&](mesh::Range run) { most = larger(most, max_absolute(array, run)); });
    return most;
  }
  Lanes lanes{};
  const auto add = type == NormType::one ? add_absolutes : add_squares;
  for_each_run(bucket, owned, [&](mesh::Range run) { add(lanes, array, run); });
  return sum_of(lanes);
}

double join_terms(double a, double b, NormType type) {
  return type == NormType::infinity ? larger(a, b) : a + b;
}

double global_norm(const std::vector<double>& terms_by_segment, NormType type) {
  double total = 0;
  for (const double term : terms_by_segment) total = join_terms(total, term, type);
  return type == NormType::two ? std::sqrt(total) : total;
}

double clip_scale(double norm, std::optional<double> max_norm) {
  return max_norm ? std::min(1.0, *max_norm / (norm + 1e-6)) : 1.0;
}

}  // namespace hairpin::optim
