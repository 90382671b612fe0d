#include "hairpin/train/egress_recorder.h"

#include <stdexcept>

namespace hairpin::train {

link::SentObserver EgressRecorder::observer() {
  return [this](const wire::Message& message, std::uint64_t bytes) { observe(message, bytes); };
}

void EgressRecorder::observe(const wire::Message& message, std::uint64_t frame_bytes) {
  const std::lock_guard lock(mutex_);
  if (!log_) {
    pending_.emplace_back(message, frame_bytes);
  } else if (const auto done = log_->append(message, frame_bytes); !done) {
    throw std::runtime_error(done.error().message);
  }
}

Result<void> EgressRecorder::open(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  HAIRPIN_TRY(auto log, egress::LogWriter::create(file));
  for (const auto& [message, bytes] : pending_) HAIRPIN_CHECK_OK(log.append(message, bytes));
  pending_.clear();
  log_.emplace(std::move(log));
  return {};
}

Result<void> EgressRecorder::close() {
  const std::lock_guard lock(mutex_);
  return log_ ? log_->close() : Result<void>{};
}

}  // namespace hairpin::train
