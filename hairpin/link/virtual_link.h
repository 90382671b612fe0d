// A link in one process with a clock of its own, which moves when told to: exact tests of what
// takes how long. Frames are cut, queued and put together by the same code as over TCP, on one
// connection.
//
// Nothing happens between calls of `advance`: whoever receives what has not come yet waits for
// ever, unless another thread advances. Sending and receiving may be done on any threads, advancing
// on one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "hairpin/link/link.h"

namespace hairpin::link {

struct VirtualDirection {
  std::chrono::nanoseconds latency{0};
  std::chrono::nanoseconds jitter{0};  // up to so much more for each fragment; the order stays
  double bytes_per_second = 0;  // of fragments with their headers, one after the other; 0: any
};

struct VirtualLinkOptions {
  VirtualDirection up, down;  // up: edge to cloud
  std::uint64_t seed = 0;     // of the jitter
  // Zero: no heartbeats but those that the program sends.
  std::chrono::nanoseconds heartbeat_interval{0};
  SentObserver edge_sent, cloud_sent;
};

class VirtualLink {
 public:
  explicit VirtualLink(VirtualLinkOptions options = {});
  ~VirtualLink();  // what is under way is lost, and both ends end
  VirtualLink(const VirtualLink&) = delete;

  Link& edge();
  Link& cloud();

  Moment now() const;  // begins at the clock's epoch
  // Lets everything happen that is due until then, in order.
  void advance(std::chrono::nanoseconds time);
  // To the next moment at which something happens, heartbeats included; false: nothing will.
  bool advance_to_next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hairpin::link
