#include "hairpin/link/connect.h"

#include <array>
#include <asio/redirect_error.hpp>
#include <asio/ssl/error.hpp>
#include <asio/use_awaitable.hpp>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/run_within.h"
#include "hairpin/link/stream_link.h"
#include "hairpin/link/tls_context.h"
#include "hairpin/link/tls_fault.h"

namespace hairpin::link {
namespace {

constexpr std::chrono::milliseconds kLinger{1000};

StreamLinkOptions stream_options(wire::Role own, const TlsLinkOptions& options) {
  return {.own = own,
          .heartbeat_interval = options.heartbeat_interval,
          .peer_timeout = options.peer_timeout,
          .sent = options.sent};
}

// Lets the peer read our alert: a socket closed over unread bytes would reset the connection.
void close_gently(asio::io_context& io, ByteStream& stream) {
  asio::error_code ignored;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  const auto discard = [](asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    std::array<std::byte, 4096> scrap;
    asio::error_code error;
    while (!error)
      co_await socket.async_read_some(asio::buffer(scrap),
                                      asio::redirect_error(asio::use_awaitable, error));
  };
  run_within(io, discard(stream.socket()), kLinger, [&] { stream.socket().close(ignored); });
}

}  // namespace

Result<void> check_options(const TlsLinkOptions& options, wire::Role own) {
  if (options.insecure_loopback) {
    if (options.host == "127.0.0.1") return {};
    return bad_input(
        "link.insecure_loopback = true with link.address at {}: without TLS only 127.0.0.1 is "
        "allowed; remove insecure_loopback and make keys with `hairpin keys`",
        options.host);
  }
  if (auto context = make_tls_context(own, options.keys); !context)
    return tl::unexpected(std::move(context).error());
  return {};
}

Result<std::unique_ptr<Link>> start_link(std::shared_ptr<asio::io_context> io,
                                         asio::ip::tcp::socket socket, wire::Role own,
                                         const TlsLinkOptions& options, bool* fatal) {
  asio::error_code error;
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  if (options.insecure_loopback)
    return make_stream_link(std::move(io), make_plain_stream(std::move(socket)),
                            stream_options(own, options));

  HAIRPIN_TRY(auto context, make_tls_context(own, options.keys));
  const auto peer = peer_address(socket);
  auto stream = make_tls_stream(std::move(socket), std::move(context));
  error = {};
  const bool in_time =
      run_within(*io, stream->handshake(own, error), options.handshake_timeout, [&] {
        asio::error_code ignored;
        stream->socket().close(ignored);
      });
  if (!in_time)
    return fail(ErrorKind::link_lost, "{} did not finish its TLS handshake within {:g} s", peer,
                options.handshake_timeout.count() / 1000.0);
  if (!error)
    return make_stream_link(std::move(io), std::move(stream), stream_options(own, options));

  const auto verified = stream->verify_result();
  close_gently(*io, *stream);
  if (error.category() != asio::error::get_ssl_category())
    return fail(ErrorKind::link_lost, "{} broke off its TLS handshake ({})", peer, error.message());
  auto fault = tls_fault(static_cast<unsigned long>(error.value()), verified, own, peer);
  if (fatal != nullptr) *fatal = fault.certificate;
  return tl::unexpected(std::move(fault.error));
}

}  // namespace hairpin::link
