#include "hairpin/pipeline/link_channel.h"

#include <ATen/ops/cat.h>

namespace hairpin::pipeline {

std::optional<Tensor> RowGather::add(const Tag& tag, int rank, Tensor rows) {
  std::vector<Tensor> shares;
  {
    const std::lock_guard lock(mutex_);
    auto& waiting = waiting_[tag];
    waiting.resize(static_cast<std::size_t>(ranks_));
    waiting[static_cast<std::size_t>(rank)] = std::move(rows);
    for (const auto& share : waiting)
      if (!share.defined()) return std::nullopt;
    shares = std::move(waiting);
    waiting_.erase(tag);
  }
  return at::cat(shares);
}

Result<void> LinkChannel::send(Tag tag, Tensor tensor) {
  if (tp_.scattered()) {
    const MeterScope scope(session_.options().meter, MemoryUse::link);
    auto whole = gather_.add(tag, tp_.rank(), std::move(tensor));
    return whole ? session_.send_tensor(tag, *whole) : Result<void>();
  }
  return tp_.rank() == 0 ? session_.send_tensor(tag, tensor) : Result<void>();
}

Result<Tensor> LinkChannel::receive(Tag tag) {
  tag.tp = tp_.rank();
  return mailbox_.take(tag);
}

}  // namespace hairpin::pipeline
