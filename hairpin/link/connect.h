// What dialling and listening share: from a connected socket to one that is authenticated and knows
// its place in a link. Includes Asio; only .cc files of this folder include it.
//
// The coroutines wait without limit: whoever is late has its socket closed by the caller.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/tls_link.h"
#include "hairpin/wire/opening.h"

namespace hairpin::link {

// Own keys that do not load, and insecure_loopback elsewhere than at 127.0.0.1: bad_input.
Result<void> check_options(const TlsLinkOptions& options, wire::Role own);

// With TLS unless insecure_loopback. `socket` is connected.
Result<std::unique_ptr<ByteStream>> make_stream(asio::ip::tcp::socket socket, wire::Role own,
                                                const TlsLinkOptions& options);

struct ConnectFault {
  bool fatal = false;  // both sites must end; otherwise it was a stranger, or a connection broke
  Error error;
};

// The TLS handshake. A wrong certificate on either side, or a peer that speaks no TLS: peer, the
// first fatal. A connection that broke: link_lost.
asio::awaitable<std::optional<ConnectFault>> authenticate(ByteStream& stream, wire::Role own);

asio::awaitable<std::optional<ConnectFault>> send_opening(ByteStream& stream, wire::Role own,
                                                          wire::Opening opening);

struct OpeningOrFault {
  wire::Opening opening;
  std::optional<ConnectFault> fault;
};
// Something else than an opening, and a certificate's refusal: peer, and fatal. A connection that
// broke: link_lost.
asio::awaitable<OpeningOrFault> receive_opening(ByteStream& stream, wire::Role own);

// Lets the peer read what was written: a socket closed over unread bytes would reset the
// connection.
asio::awaitable<void> close_gently(ByteStream& stream);

// "link.connections is 4 at the edge and 2 at the cloud; ..."
Error connections_differ(int edge, int cloud);

std::unique_ptr<Link> link_over(std::shared_ptr<asio::io_context> io,
                                std::vector<std::unique_ptr<ByteStream>> streams, wire::Role own,
                                const TlsLinkOptions& options);

}  // namespace hairpin::link
