#include "hairpin/link/memory_pipe.h"

#include <algorithm>

#include "hairpin/link/outgoing.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {

MemoryPipe::MemoryPipe(PipeOptions options, std::shared_ptr<Endpoint> source,
                       std::shared_ptr<Endpoint> target)
    : options_(std::move(options)),
      source_(std::move(source)),
      target_(std::move(target)),
      random_(options_.seed) {
  source_->set_wakeup([this] {
    const std::lock_guard lock(mutex_);
    work_ = true;
    changed_.notify_all();
  });
  thread_ = std::jthread([this] { run(); });
}

MemoryPipe::~MemoryPipe() {
  source_->set_wakeup(nullptr);
  const std::lock_guard lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

void MemoryPipe::source_gone() {
  const std::lock_guard lock(mutex_);
  source_gone_ = true;
  work_ = true;
  changed_.notify_all();
}

void MemoryPipe::run() {
  while (wait_for_work()) {
    take_messages();
    deliver_due();
  }
}

bool MemoryPipe::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stop_ || work_; };
  if (flights_.empty()) {
    if (source_gone_ && !work_) {
      lock.unlock();
      target_->close(
          {ErrorKind::link_lost,
           fmt::format("{}'s process ended or the connection broke", target_->peer_name())});
      lock.lock();
      changed_.wait(lock, [&] { return stop_; });
    }
    changed_.wait(lock, ready);
  } else {
    changed_.wait_until(lock, flights_.front().due, ready);
  }
  work_ = false;
  return !stop_;
}

void MemoryPipe::take_messages() {
  while (auto outgoing = source_->next_to_send()) {
    const auto& message = outgoing->message;
    auto& sequence = sequences_.at(static_cast<std::size_t>(wire::lane_of(message)));
    auto parts = frame_to_send(*source_, *outgoing, sequence, options_.sent);
    if (!parts) continue;
    ++sequence;
    if (!options_.may_pass()) {
      flights_.clear();
      return;
    }
    const auto due = due_time(message);
    const auto place = std::find_if(flights_.begin(), flights_.end(),
                                    [&](const Flight& flight) { return flight.due > due; });
    auto frame = std::move(parts->head);
    frame.insert(frame.end(), parts->payload.begin(), parts->payload.end());
    const auto size = frame.size();
    flights_.insert(place, {due, std::move(frame)});
    source_->written(*outgoing, size, source_->now());
  }
}

MemoryPipe::Clock::time_point MemoryPipe::due_time(const wire::Message& message) {
  const auto jitter = static_cast<std::uint64_t>(options_.jitter.count());
  auto due = Clock::now() + options_.delay +
             std::chrono::microseconds(jitter > 0 ? random_.below(jitter + 1) : 0);
  const auto* tensor = std::get_if<wire::TensorMessage>(&message);
  if (tensor != nullptr && options_.reorder) {
    auto& last = last_due_of_[{static_cast<int>(tensor->kind), tensor->boundary, tensor->domain,
                               tensor->microbatch}];
    due = last = std::max({due, last, last_barrier_});
  } else {
    due = last_barrier_ = std::max(due, last_due_);
  }
  last_due_ = std::max(last_due_, due);
  return due;
}

void MemoryPipe::deliver_due() {
  while (!flights_.empty() && flights_.front().due <= Clock::now()) {
    const auto frame = std::move(flights_.front().frame);
    flights_.pop_front();
    deliver(frame);
  }
}

void MemoryPipe::deliver(const Bytes& frame) {
  if (peer_done_) return;
  const auto header = wire::decode_header(frame, target_->max_frame_bytes());
  auto message = header ? wire::decode_body(*header, ByteSpan(frame).subspan(wire::kHeaderBytes))
                        : tl::unexpected(header.error());
  if (message) {
    const auto now = target_->now();
    peer_done_ = !target_->deliver(
        {std::move(*message), {.frame_bytes = frame.size(), .began = now, .ended = now}});
  } else {
    peer_done_ = true;
    target_->refuse(message.error());
  }
}

}  // namespace hairpin::link
