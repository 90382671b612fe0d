#include "hairpin/link/tls_link.h"

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <thread>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/connect.h"
#include "hairpin/link/run_within.h"

namespace hairpin::link {
namespace {

using asio::redirect_error;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kConnectAttempt{5000};
constexpr milliseconds kFirstPause{50}, kLongestPause{1000};

class Dialler {
 public:
  explicit Dialler(const TlsLinkOptions& options)
      : options_(options), address_(fmt::format("{}:{}", options.host, options.port)) {}

  Result<std::unique_ptr<Link>> run() {
    const auto end = Clock::now() + options_.connect_timeout;
    for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
      auto attempt = connect_once(remaining(end));
      if (attempt || attempt.error().kind != ErrorKind::link_lost) return attempt;
      if (remaining(end) <= pause)
        return fail(ErrorKind::link_lost,
                    "no cloud at {} within {:g} s ({}); start `hairpin cloud` there, or correct "
                    "link.address",
                    address_, options_.connect_timeout.count() / 1000.0, attempt.error().message);
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  static milliseconds remaining(Clock::time_point end) {
    return std::chrono::duration_cast<milliseconds>(end - Clock::now());
  }

  // link_lost: worth another attempt.
  Result<std::unique_ptr<Link>> connect_once(milliseconds limit) {
    auto io = std::make_shared<asio::io_context>();
    std::vector<std::unique_ptr<ByteStream>> streams;
    wire::Opening opening{.connections = static_cast<std::uint8_t>(options_.connections)};
    for (; opening.connection < opening.connections; ++opening.connection) {
      HAIRPIN_TRY(auto socket, connected(*io, limit));
      HAIRPIN_TRY(auto stream, make_stream(std::move(socket), wire::Role::edge, options_));
      HAIRPIN_TRY(opening.session, introduced(*io, *stream, opening));
      streams.push_back(std::move(stream));
    }
    return link_over(std::move(io), std::move(streams), wire::Role::edge, options_);
  }

  Result<Tcp::socket> connected(asio::io_context& io, milliseconds limit) {
    Tcp::socket socket(io);
    asio::error_code error = asio::error::timed_out;
    const bool in_time = run_within(io, connect(socket, error), std::min(limit, kConnectAttempt),
                                    [&] { cancel_connect(socket); });
    if (!in_time) error = asio::error::timed_out;
    if (error) return fail(ErrorKind::link_lost, "{}", error.message());
    return socket;
  }

  // TLS and the openings; the session's id.
  Result<wire::SessionId> introduced(asio::io_context& io, ByteStream& stream,
                                     const wire::Opening& own) {
    std::optional<ConnectFault> fault;
    wire::Opening answer;
    const auto peer = peer_address(stream.socket());
    const bool in_time =
        run_within(io, introduce(stream, own, answer, fault), options_.handshake_timeout, [&] {
          asio::error_code ignored;
          stream.socket().close(ignored);
        });
    if (fault && fault->error.kind != ErrorKind::link_lost)
      return tl::unexpected(std::move(fault->error));
    if (!in_time)
      return fail(ErrorKind::link_lost, "{} did not finish its handshake within {:g} s", peer,
                  options_.handshake_timeout.count() / 1000.0);
    if (fault) return tl::unexpected(std::move(fault->error));
    if (answer.connections != own.connections)
      return tl::unexpected(connections_differ(own.connections, answer.connections));
    if (answer.connection != own.connection ||
        (own.connection > 0 && answer.session != own.session))
      return fail(ErrorKind::peer,
                  "the cloud answered for another connection; install the same release of Hairpin "
                  "on both sites");
    return answer.session;
  }

  // As everywhere here, a co_await stands alone or initialises a variable (see stream_link.cc).
  static asio::awaitable<void> introduce(ByteStream& stream, wire::Opening own,
                                         wire::Opening& answer,
                                         std::optional<ConnectFault>& fault) {
    fault = co_await authenticate(stream, wire::Role::edge);
    if (!fault) {
      // Where it cannot be written, what the cloud has said is the better reason.
      const auto unsent = co_await send_opening(stream, wire::Role::edge, own);
      auto heard = co_await receive_opening(stream, wire::Role::edge);
      answer = heard.opening;
      fault = heard.fault ? std::move(heard.fault) : unsent;
    }
    if (fault) co_await close_gently(stream);
  }

  asio::awaitable<void> connect(Tcp::socket& socket, asio::error_code& error) {
    resolver_.emplace(socket.get_executor());
    const auto endpoints = co_await resolver_->async_resolve(
        options_.host, std::to_string(options_.port), redirect_error(use_awaitable, error));
    if (error) co_return;
    co_await asio::async_connect(socket, endpoints, redirect_error(use_awaitable, error));
  }

  void cancel_connect(Tcp::socket& socket) {
    asio::error_code ignored;
    resolver_->cancel();
    socket.close(ignored);
  }

  const TlsLinkOptions& options_;
  const std::string address_;
  std::optional<Tcp::resolver> resolver_;
};

}  // namespace

Result<std::unique_ptr<Link>> dial(const TlsLinkOptions& options) {
  HAIRPIN_CHECK_OK(check_options(options, wire::Role::edge));
  return Dialler(options).run();
}

}  // namespace hairpin::link
