#include "hairpin/pipeline/link_channel.h"

#include <utility>

namespace hairpin::pipeline {

std::optional<std::vector<Tensor>> RowGather::add(const Tag& tag, int rank, Tensor rows) {
  const std::lock_guard lock(mutex_);
  auto& waiting = waiting_[tag];
  waiting.resize(static_cast<std::size_t>(ranks_));
  waiting[static_cast<std::size_t>(rank)] = std::move(rows);
  for (const auto& share : waiting)
    if (!share.defined()) return std::nullopt;
  auto shares = std::move(waiting);
  waiting_.erase(tag);
  return shares;
}

Result<void> LinkChannel::send(Tag tag, Tensor tensor) {
  if (tp_.scattered()) {
    auto shares = gather_.add(tag, tp_.rank(), std::move(tensor));
    return shares ? session_.send_tensor(tag, std::move(*shares)) : Result<void>();
  }
  return tp_.rank() == 0 ? session_.send_tensor(tag, {std::move(tensor)}) : Result<void>();
}

Result<Tensor> LinkChannel::receive(Tag tag) {
  tag.tp = tp_.rank();
  return mailbox_.take(tag);
}

}  // namespace hairpin::pipeline
