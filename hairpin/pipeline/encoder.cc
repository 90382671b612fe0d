#include "hairpin/pipeline/encoder.h"

#include <ATen/core/Tensor.h>

#include <exception>
#include <utility>

#include "hairpin/pipeline/codec.h"
#include "hairpin/pipeline/mailbox.h"

namespace hairpin::pipeline {

Encoder::Encoder(std::function<Result<void>(wire::TensorMessage)> send,
                 std::function<void(Error)> failed, MemoryMeter* meter)
    : send_(std::move(send)),
      failed_(std::move(failed)),
      meter_(meter),
      thread_([this] { loop(); }) {}

Encoder::~Encoder() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<void> Encoder::put(wire::TensorMessage message, std::vector<Tensor> shares) {
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected(*error_);
  queue_.push_back({std::move(message), std::move(shares)});
  changed_.notify_all();
  return {};
}

Result<void> Encoder::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || (queue_.empty() && !busy_); });
  return error_ ? Result<void>(tl::unexpected(*error_)) : Result<void>();
}

void Encoder::fail(Error error) {
  std::deque<Waiting> dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  dropped.swap(queue_);
  changed_.notify_all();
}

// Nothing: the end.
std::optional<Encoder::Waiting> Encoder::next() {
  std::unique_lock lock(mutex_);
  busy_ = false;
  if (queue_.empty()) changed_.notify_all();
  changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
  if (ended_) return std::nullopt;
  busy_ = true;
  Waiting first = std::move(queue_.front());
  queue_.pop_front();
  return first;
}

void Encoder::loop() {
  const MeterScope scope(meter_, MemoryUse::link);
  while (auto waiting = next()) {
    const auto sent = encode_and_send(std::move(*waiting));
    if (sent) continue;
    failed_(sent.error());  // before any rank can meet it here
    fail(sent.error());
  }
}

Result<void> Encoder::encode_and_send(Waiting waiting) {
  const Tag tag = tag_of(waiting.message);
  try {
    waiting.message.payload = encode(waiting.shares, waiting.message.codec);
    waiting.shares.clear();  // the rank may have its memory back
    return send_(std::move(waiting.message));
  } catch (const std::exception& failure) {
    return hairpin::fail(ErrorKind::internal, "the {} could not be sent: {}", tag_text(tag),
                         failure.what());
  }
}

}  // namespace hairpin::pipeline
