// The edge's egress log around a run. The first frames leave before the cloud is known to be the
// right one; they are kept in memory until `open`, so that a refused run leaves nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/egress/log.h"
#include "hairpin/link/link.h"

namespace hairpin::train {

// Thread-safe.
class EgressRecorder {
 public:
  // For the link's options; the recorder must outlive the link. It throws when the log can't be
  // written: what can't be recorded isn't sent.
  link::SentObserver observer();

  // Creates the log and writes what was observed so far. Once.
  Result<void> open(const std::filesystem::path& file);

  // Writes the closing record: nothing may be sent afterwards. Without an open log: nothing.
  Result<void> close();

 private:
  void observe(const wire::Message& message, std::uint64_t frame_bytes);

  std::mutex mutex_;
  std::vector<std::pair<wire::Message, std::uint64_t>> pending_;  // before `open`
  std::optional<egress::LogWriter> log_;
};

}  // namespace hairpin::train
