#include "hairpin/link/tls_link.h"

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <thread>

#include "hairpin/link/byte_stream.h"
#include "hairpin/link/connect.h"
#include "hairpin/link/run_within.h"
#include "hairpin/link/stream_link.h"
#include "hairpin/link/tls_context.h"

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
    Tcp::socket socket(*io);
    asio::error_code error = asio::error::timed_out;
    const bool in_time = run_within(*io, connect(socket, error), std::min(limit, kConnectAttempt),
                                    [&] { cancel_connect(socket); });
    if (!in_time) error = asio::error::timed_out;
    if (error) return fail(ErrorKind::link_lost, "{}", error.message());
    return start_link(std::move(io), std::move(socket), wire::Role::edge, options_);
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
