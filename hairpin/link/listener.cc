#include <asio/co_spawn.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "hairpin/base/log.h"
#include "hairpin/link/connect.h"
#include "hairpin/link/run_within.h"

namespace hairpin::link {

using Tcp = asio::ip::tcp;
using std::chrono::milliseconds;

struct Listener::Impl {
  explicit Impl(const TlsLinkOptions& link_options) : options(link_options) {}

  asio::awaitable<void> accept_one(Tcp::socket& socket, asio::error_code& error) {
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
  }
  void close() {
    asio::error_code ignored;
    acceptor.close(ignored);
  }

  const TlsLinkOptions options;
  asio::io_context io;
  Tcp::acceptor acceptor{io};
  std::uint16_t port = 0;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener::~Listener() = default;

Result<Listener> Listener::bind(const TlsLinkOptions& options) {
  HAIRPIN_CHECK_OK(check_options(options, wire::Role::cloud));
  auto impl = std::make_unique<Impl>(options);
  asio::error_code error;
  const auto found = Tcp::resolver(impl->io).resolve(options.host, std::to_string(options.port),
                                                     Tcp::resolver::passive, error);
  if (error)
    return bad_input("link.address = \"{}:{}\": {}; name an address of this machine", options.host,
                     options.port, error.message());
  const Tcp::endpoint endpoint = *found.begin();
  auto& acceptor = impl->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(Tcp::socket::max_listen_connections, error);
  if (error == asio::error::address_in_use)
    return bad_input(
        "link.address = \"{}:{}\": the port is taken; stop what listens there or choose another",
        options.host, options.port);
  if (error)
    return bad_input(
        "link.address = \"{}:{}\": cannot listen there ({}); name an address of this "
        "machine and a free port",
        options.host, options.port, error.message());
  impl->port = acceptor.local_endpoint(error).port();
  return Listener(std::move(impl));
}

std::uint16_t Listener::port() const { return impl_->port; }

void Listener::stop() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->close(); });
}

Result<std::unique_ptr<Link>> Listener::accept(std::optional<milliseconds> limit) {
  using Clock = std::chrono::steady_clock;
  constexpr milliseconds kForever = std::chrono::hours(24 * 365);
  const auto end = Clock::now() + limit.value_or(kForever);
  while (true) {
    auto io = std::make_shared<asio::io_context>();
    Tcp::socket socket(*io);
    asio::error_code error;
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const bool in_time = run_within(impl_->io, impl_->accept_one(socket, error),
                                    std::max(left, milliseconds(0)), [&] { impl_->close(); });
    if (!in_time)
      return fail(ErrorKind::link_lost, "no edge connected to {}:{} within {:g} s",
                  impl_->options.host, impl_->port, limit.value_or(kForever).count() / 1000.0);
    if (error)
      return fail(ErrorKind::link_lost, "waiting for the edge ended ({})", error.message());
    bool fatal = false;
    auto link = start_link(io, std::move(socket), wire::Role::cloud, impl_->options, &fatal);
    if (link || fatal) {
      impl_->close();
      return link;
    }
    log::warning("{}; still waiting for the edge", link.error().message);
  }
}

}  // namespace hairpin::link
