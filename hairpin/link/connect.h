// What dialling and listening share: from a connected socket to a link. Includes Asio; only .cc
// files of this folder include it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <memory>

#include "hairpin/link/tls_link.h"

namespace hairpin::link {

// Own keys that do not load, and insecure_loopback elsewhere than at 127.0.0.1: bad_input.
Result<void> check_options(const TlsLinkOptions& options, wire::Role own);

// Does the TLS handshake (unless insecure_loopback) and starts the link. `io` runs nothing else.
// A wrong certificate on either side, or a peer that speaks no TLS: peer, the first with `fatal`
// set. A connection that broke or was too slow: link_lost.
Result<std::unique_ptr<Link>> start_link(std::shared_ptr<asio::io_context> io,
                                         asio::ip::tcp::socket socket, wire::Role own,
                                         const TlsLinkOptions& options, bool* fatal = nullptr);

}  // namespace hairpin::link
