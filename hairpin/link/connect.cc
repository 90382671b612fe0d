#include "hairpin/link/connect.h"

#include <array>
#include <asio/redirect_error.hpp>
#include <asio/ssl/error.hpp>
#include <asio/use_awaitable.hpp>

#include "hairpin/base/check.h"
#include "hairpin/link/socket_options.h"
#include "hairpin/link/stream_link.h"
#include "hairpin/link/tls_context.h"
#include "hairpin/link/tls_fault.h"

namespace hairpin::link {

Result<void> check_options(const TlsLinkOptions& options, wire::Role own) {
  HAIRPIN_CHECK(options.connections >= 1 && options.connections <= wire::kMaxConnections,
                "a link of {} connections", options.connections);
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

Result<std::unique_ptr<ByteStream>> make_stream(asio::ip::tcp::socket socket, wire::Role own,
                                                const TlsLinkOptions& options) {
  prepare_socket(socket);
  if (options.insecure_loopback) return make_plain_stream(std::move(socket));
  HAIRPIN_TRY(auto context, make_tls_context(own, options.keys));
  return make_tls_stream(std::move(socket), std::move(context));
}

// In this file, too, a co_await stands alone or initialises a variable (see stream_link.cc).
asio::awaitable<std::optional<ConnectFault>> authenticate(ByteStream& stream, wire::Role own) {
  const auto peer = peer_address(stream.socket());
  asio::error_code error;
  co_await stream.handshake(own, error);
  if (!error) co_return std::nullopt;
  const auto verified = stream.verify_result();
  ConnectFault fault;
  if (error.category() == asio::error::get_ssl_category()) {
    auto found = tls_fault(static_cast<unsigned long>(error.value()), verified, own, peer);
    fault.fatal = found.certificate;
    fault.error = std::move(found.error);
  } else {
    fault.error = {ErrorKind::link_lost,
                   fmt::format("{} broke off its TLS handshake ({})", peer, error.message())};
  }
  co_return fault;
}

asio::awaitable<std::optional<ConnectFault>> send_opening(ByteStream& stream, wire::Role own,
                                                          wire::Opening opening) {
  const auto bytes = wire::encode(opening);
  asio::error_code error;
  co_await stream.write(asio::buffer(bytes.data(), bytes.size()), error);
  if (!error) co_return std::nullopt;
  ConnectFault fault{false, stream.explain(error, own)};
  co_return fault;
}

asio::awaitable<OpeningOrFault> receive_opening(ByteStream& stream, wire::Role own) {
  OpeningOrFault result;
  const auto peer = peer_address(stream.socket());
  Bytes bytes(wire::kOpeningBytes);
  std::size_t size = 0;
  asio::error_code error;
  while (!error && size < bytes.size()) {
    const auto more =
        co_await stream.read_some(asio::buffer(bytes.data() + size, bytes.size() - size), error);
    if (!error) size += more;
  }
  bytes.resize(size);
  constexpr std::string_view kMagic = "HPIN";
  const bool alien = size > 0 && as_text(ByteSpan(bytes).first(std::min(size, kMagic.size()))) !=
                                     kMagic.substr(0, size);
  if (error && !alien) {
    auto broken = stream.explain(error, own);
    const bool certificate = broken.kind == ErrorKind::peer;
    if (!certificate)
      broken.message = fmt::format(
          "{} left before the link was open ({}); compare link.address and link.insecure_loopback "
          "on both sites",
          peer, error.message());
    result.fault = ConnectFault{certificate, std::move(broken)};
    co_return result;
  }
  auto opening = wire::decode_opening(bytes);
  if (opening) {
    result.opening = *opening;
  } else {
    result.fault = ConnectFault{true, std::move(opening).error()};
  }
  co_return result;
}

asio::awaitable<void> close_gently(ByteStream& stream) {
  asio::error_code error;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::array<std::byte, 4096> scrap;
  while (!error) {
    co_await stream.socket().async_read_some(asio::buffer(scrap),
                                             asio::redirect_error(asio::use_awaitable, error));
  }
}

Error connections_differ(int edge, int cloud) {
  return {ErrorKind::peer,
          fmt::format("link.connections is {} at the edge and {} at the cloud; make them agree and "
                      "start both again",
                      edge, cloud)};
}

std::unique_ptr<Link> link_over(std::shared_ptr<asio::io_context> io,
                                std::vector<std::unique_ptr<ByteStream>> streams, wire::Role own,
                                const TlsLinkOptions& options) {
  return make_stream_link(std::move(io), std::move(streams),
                          {.own = own,
                           .heartbeat_interval = options.heartbeat_interval,
                           .peer_timeout = options.peer_timeout,
                           .sent = options.sent});
}

}  // namespace hairpin::link
