// The in-memory twin: two ends in one process, the same frames and the same ends as over TLS, and
// faults on demand. There are no heartbeats: its estimate is the delays that it was made with, and
// no bandwidth. Used by `hairpin train`, which runs both sites in one process, and by tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "hairpin/link/link.h"

namespace hairpin::link {

struct MemoryLinkOptions {
  // One-way latency; edge to cloud is up.
  std::chrono::microseconds delay_up{0};
  std::chrono::microseconds delay_down{0};
  // Up to so much more for each message, drawn from `seed`.
  std::chrono::microseconds jitter{0};
  std::uint64_t seed = 0;
  // Off: jitter never changes the order. On: a tensor message may overtake others of another
  // (kind, boundary, domain, microbatch); no message overtakes, or is overtaken by, one that is
  // not a tensor. Receivers that key tensors by those must not notice.
  bool reorder = false;
  // After so many messages, both directions together, the link breaks: both ends get link_lost,
  // what is on its way is lost.
  std::optional<std::uint64_t> cut_after_messages;
  // May throw to keep the frame from being sent; the link then fails with what it threw.
  SentObserver edge_sent, cloud_sent;
};

struct MemoryPair {
  std::unique_ptr<Link> edge, cloud;
};

// Destroying an end without a goodbye is this end's sudden death to the other one.
MemoryPair make_memory_pair(MemoryLinkOptions options = {});

}  // namespace hairpin::link
