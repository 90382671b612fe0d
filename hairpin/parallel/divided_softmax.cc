#include "hairpin/parallel/divided_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hairpin/nn/row_kernels.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"

namespace hairpin::parallel {
namespace {

constexpr std::int64_t kRowGrain = 4;

// Of one row on one rank; gathered as plain doubles.
struct RowPart {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double at_target = 0;  // 0 where another rank has it
};
constexpr std::size_t kNumbers = sizeof(RowPart) / sizeof(double);

std::vector<RowPart> row_parts(const Tensor& logits, mesh::Range columns,
                               std::span<const std::int32_t> targets) {
  std::vector<RowPart> parts(targets.size());
  float* const first = fp32_span(logits).data();
  parallel_rows(logits.size(0), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto r = begin; r < end; ++r) {
      float* row = first + r * columns.count;
      const auto target = targets[static_cast<std::size_t>(r)];
      RowPart& part = parts[static_cast<std::size_t>(r)];
      if (columns.contains(target))
        part.at_target = static_cast<double>(row[target - columns.begin]);
      float max = 0;
      part.sum = nn::exp_row(row, columns.count, &max);
      part.max = static_cast<double>(max);
    }
  });
  return parts;
}

// All ranks' parts, rank by rank.
std::vector<RowPart> gather_parts(const std::vector<RowPart>& own, collective::Group& group) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<RowPart> all(own.size() * ranks);
  const std::vector<std::int64_t> counts(ranks, static_cast<std::int64_t>(own.size() * kNumbers));
  group.all_gather(std::span(&own.data()->max, own.size() * kNumbers),
                   std::span(&all.data()->max, all.size() * kNumbers), counts);
  return all;
}

}  // namespace

DividedSoftmax divided_softmax(const Tensor& logits, mesh::Range columns,
                               std::span<const std::int32_t> targets, collective::Group& group) {
  const auto own = row_parts(logits, columns, targets);
  const auto all = gather_parts(own, group);
  const auto rows = own.size();
  DividedSoftmax result;
  for (std::size_t row = 0; row < rows; ++row) {
    RowPart whole;
    for (auto part = row; part < all.size(); part += rows)
      whole.max = std::max(whole.max, all[part].max);
    for (auto part = row; part < all.size(); part += rows) {
      whole.sum += all[part].sum * std::exp(all[part].max - whole.max);
      whole.at_target += all[part].at_target;
    }
    result.losses.push_back(std::log(whole.sum) + whole.max - whole.at_target);
    result.scales.push_back(static_cast<float>(std::exp(own[row].max - whole.max) / whole.sum));
  }
  return result;
}

void divided_softmax_backward(const Tensor& exponentials, mesh::Range columns,
                              std::span<const std::int32_t> targets, std::span<const float> weights,
                              const DividedSoftmax& softmax) {
  float* const first = fp32_span(exponentials).data();
  parallel_rows(exponentials.size(0), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto r = begin; r < end; ++r) {
      const auto i = static_cast<std::size_t>(r);
      float* row = first + r * columns.count;
      nn::scale_row(row, columns.count, weights[i] * softmax.scales[i]);
      if (columns.contains(targets[i])) row[targets[i] - columns.begin] -= weights[i];
    }
  });
}

}  // namespace hairpin::parallel
