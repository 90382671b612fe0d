// The link over a few TCP connections inside TLS 1.3, both sides authenticated by certificates. The
// cloud listens on one port, the edge dials it. docs/protocol.md says how a connection is made and
// ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "hairpin/link/link.h"

namespace hairpin::link {

struct TlsLinkOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7461;   // the listener takes 0 for any free one
  std::filesystem::path keys;  // this site's cert.pem, key.pem, ca.pem
  // No TLS and no keys; any host but 127.0.0.1 is refused.
  bool insecure_loopback = false;

  // TCP connections, 1 to 16 and the same number on both sites: control on the first, bulk on the
  // others.
  int connections = 4;

  std::chrono::milliseconds connect_timeout{60000};    // how long the edge goes on dialling
  std::chrono::milliseconds handshake_timeout{5000};   // for TLS and the opening, one connection
  std::chrono::milliseconds heartbeat_interval{1000};  // longest silence of this side
  std::chrono::milliseconds peer_timeout{8000};        // silence after which the peer is dead
  // May throw to keep the frame from being sent; the link then fails with what it threw.
  SentObserver sent;
};

// The edge's end. Own keys that do not load: bad_input. A cloud that cannot be reached is dialled
// again until connect_timeout, then link_lost. Something there that is no Hairpin, has the wrong
// certificate or does not like this edge's, or wants another number of connections: peer, at once.
Result<std::unique_ptr<Link>> dial(const TlsLinkOptions& options);

// The cloud's end. Not thread-safe, but for `stop`.
class Listener {
 public:
  // Own keys that do not load, a port that is taken, an address that is not this machine's:
  // bad_input.
  static Result<Listener> bind(const TlsLinkOptions& options);
  Listener(Listener&&) noexcept;
  ~Listener();

  std::uint16_t port() const;

  // Waits until one authenticated edge has all its connections, and stops listening. An edge with
  // the wrong certificate, or that finds ours wrong, speaks another version or wants another number
  // of connections ends the wait: peer. Whoever speaks no TLS (a port scanner, a browser), breaks
  // off or is late is logged as a warning and the wait goes on; nobody holds up anybody else. After
  // `limit`, or `stop`: link_lost. To be called once.
  Result<std::unique_ptr<Link>> accept(
      std::optional<std::chrono::milliseconds> limit = std::nullopt);

  // From any thread: ends a waiting accept().
  void stop();

 private:
  struct Impl;
  explicit Listener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace hairpin::link
