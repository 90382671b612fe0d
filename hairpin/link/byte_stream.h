// The bytes under a link: a TCP socket, plain or inside TLS. Includes Asio, so only .cc files of
// this folder include it. Not thread-safe: one thread runs the io_context of a stream.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/error_code.hpp>
#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>

#include "hairpin/base/hash.h"
#include "hairpin/base/result.h"
#include "hairpin/link/tls_context.h"

namespace hairpin::link {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Of TLS; nothing without it. To be done before anything else.
  virtual asio::awaitable<void> handshake(wire::Role own, asio::error_code& error) = 0;
  // After a handshake: what OpenSSL says of the peer's certificate, and the SHA-256 of it (all
  // zeros without TLS).
  virtual long verify_result() = 0;
  virtual Digest peer_fingerprint() = 0;
  // At least one byte, or an error.
  virtual asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer,
                                                 asio::error_code& error) = 0;
  virtual asio::awaitable<void> write(asio::const_buffer buffer, asio::error_code& error) = 0;
  // Tells the peer that no more comes. May last until the socket is closed.
  virtual asio::awaitable<void> close_write() = 0;
  virtual asio::ip::tcp::socket& socket() = 0;
  // The sentence for an error of read_some or write.
  virtual Error explain(const asio::error_code& error, wire::Role own) = 0;
};

std::unique_ptr<ByteStream> make_plain_stream(asio::ip::tcp::socket socket);

std::unique_ptr<ByteStream> make_tls_stream(asio::ip::tcp::socket socket, TlsContext context);

// "127.0.0.1:7461" of the other end; "the peer" when it is gone already.
std::string peer_address(const asio::ip::tcp::socket& socket);

}  // namespace hairpin::link
