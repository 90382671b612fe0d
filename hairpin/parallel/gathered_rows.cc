#include "hairpin/parallel/gathered_rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/parallel/shares.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

// Each rank makes tensors of its own of what the others show it: only storages are shared. Holding
// the storage also keeps autograd from adding to it in place, where `own` is a gradient.
std::vector<Tensor> shared_shards(const Tensor& own, collective::Group& group) {
  const auto objects = group.exchange(std::make_shared<const Tensor>(own.detach()), own.nbytes());
  std::vector<Tensor> shards;
  for (const auto& object : objects)
    shards.push_back(static_cast<const Tensor*>(object.get())->detach());
  return shards;
}

std::vector<Tensor> copied_shards(const Tensor& own, collective::Counts counts,
                                  collective::Group& group) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const Tensor whole = at::empty({total, own.size(1)}, at::kFloat);
  group.all_gather(fp32_span(own), fp32_span(whole), elements(counts, own.size(1)));
  std::vector<Tensor> shards;
  std::int64_t begin = 0;
  for (const auto count : counts) {
    shards.push_back(whole.narrow(0, begin, count));
    begin += count;
  }
  return shards;
}

}  // namespace

GatheredRows::GatheredRows(std::vector<Tensor> shards) : shards_(std::move(shards)) {
  HAIRPIN_CHECK(!shards_.empty(), "rows of no rank");
}

std::int64_t GatheredRows::size() const {
  std::int64_t rows = 0;
  for (const auto& shard : shards_) rows += shard.size(0);
  return rows;
}

std::vector<GatheredRows::Piece> GatheredRows::pieces(std::int64_t begin,
                                                      std::int64_t count) const {
  std::vector<Piece> pieces;
  std::int64_t shard_begin = 0;
  for (const auto& shard : shards_) {
    const auto shard_end = shard_begin + shard.size(0);
    const auto first = std::max(begin, shard_begin), last = std::min(begin + count, shard_end);
    if (first < last)
      pieces.push_back({first - begin, shard.narrow(0, first - shard_begin, last - first)});
    shard_begin = shard_end;
  }
  return pieces;
}

GatheredRows gather_shards(const Tensor& own, collective::Counts counts, collective::Group& group) {
  const auto mine = counts[static_cast<std::size_t>(group.rank())];
  HAIRPIN_CHECK(own.size(0) == mine, "{} rows on a rank that holds {}", own.size(0), mine);
  return GatheredRows(group.shares_memory() ? shared_shards(own, group)
                                            : copied_shards(own, counts, group));
}

GatheredRows all_rows(const Tensor& own, std::int64_t tokens, const TensorParallel& tp) {
  const auto mine = tp.rows(tokens).count;
  HAIRPIN_CHECK(own.size(0) == mine, "{} rows on a rank that holds {} of {}", own.size(0), mine,
                tokens);
  if (!tp.scattered()) return GatheredRows({own});
  return gather_shards(own, shares(tokens, tp.size()), *tp.group);
}

}  // namespace hairpin::parallel
