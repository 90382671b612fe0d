// A link over connected, authenticated byte streams: frames cut into fragments, heartbeats, the
// peer's death. Includes Asio; only .cc files of this folder include it.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/link.h"

namespace hairpin::link {

struct StreamLinkOptions {
  wire::Role own = wire::Role::edge;
  std::chrono::milliseconds heartbeat_interval{1000};  // a quarter of it at first
  std::chrono::milliseconds peer_timeout{8000};        // longest silence of the peer
  SentObserver sent;
};

// `io` is the streams' own; the link runs it on a thread of its own. The peer has the streams in
// the same order.
std::unique_ptr<Link> make_stream_link(std::shared_ptr<asio::io_context> io,
                                       std::vector<std::unique_ptr<ByteStream>> streams,
                                       StreamLinkOptions options);

}  // namespace hairpin::link
