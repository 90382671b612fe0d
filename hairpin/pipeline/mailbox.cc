#include "hairpin/pipeline/mailbox.h"

#include <algorithm>

namespace hairpin::pipeline {

Tag tag_of(const wire::TensorMessage& message) {
  return {message.kind, message.boundary, message.domain, message.step,
          static_cast<int>(message.microbatch)};
}

std::string tag_text(const Tag& tag) {
  return fmt::format("{} of step {}, microbatch {}, domain {}, boundary {}",
                     tag.kind == wire::TensorKind::activation ? "activation" : "gradient",
                     tag.step + 1, std::int64_t{tag.microbatch} + 1, tag.domain, tag.boundary);
}

bool Mailbox::put(const Tag& tag, Tensor tensor) {
  {
    const std::lock_guard lock(mutex_);
    if (error_ || !tensors_.emplace(tag, std::move(tensor)).second) return false;
  }
  arrived_.notify_all();
  return true;
}

Result<Tensor> Mailbox::take(const Tag& tag) {
  std::unique_lock lock(mutex_);
  auto found = tensors_.end();
  arrived_.wait(lock, [&] {
    found = tensors_.find(tag);
    return error_ || found != tensors_.end();
  });
  if (error_) return tl::unexpected<Error>(*error_);
  Tensor tensor = std::move(found->second);
  tensors_.erase(found);
  return tensor;
}

void Mailbox::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  arrived_.notify_all();
}

std::size_t Mailbox::waiting(int tp) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      tensors_, [tp](const auto& waiting) { return waiting.first.tp == tp; }));
}

std::size_t Mailbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return tensors_.size();
}

}  // namespace hairpin::pipeline
