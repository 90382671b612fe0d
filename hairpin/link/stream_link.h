// A link over a connected, authenticated byte stream: frames, heartbeats, the peer's death.
// Includes Asio; only .cc files of this folder include it.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/link.h"

namespace hairpin::link {

struct StreamLinkOptions {
  wire::Role own = wire::Role::edge;
  std::chrono::milliseconds heartbeat_interval{1000};  // longest silence of this side
  std::chrono::milliseconds peer_timeout{8000};        // longest silence of the peer
  SentObserver sent;
};

// `io` is the stream's own; the link runs it on a thread of its own.
std::unique_ptr<Link> make_stream_link(std::shared_ptr<asio::io_context> io,
                                       std::unique_ptr<ByteStream> stream,
                                       StreamLinkOptions options);

}  // namespace hairpin::link
