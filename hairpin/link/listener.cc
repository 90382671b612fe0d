#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include "hairpin/link/connect.h"
#include "hairpin/link/reception.h"

namespace hairpin::link {

using Tcp = asio::ip::tcp;
using std::chrono::milliseconds;

struct Listener::Impl {
  explicit Impl(const TlsLinkOptions& link_options) : options(link_options) {}

  const TlsLinkOptions options;
  // The link goes on with it.
  const std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>();
  Tcp::acceptor acceptor{*io};
  std::uint16_t port = 0;
};

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener::~Listener() = default;

Result<Listener> Listener::bind(const TlsLinkOptions& options) {
  HAIRPIN_CHECK_OK(check_options(options, wire::Role::cloud));
  auto impl = std::make_shared<Impl>(options);
  asio::error_code error;
  const auto found = Tcp::resolver(*impl->io).resolve(options.host, std::to_string(options.port),
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
  asio::post(*impl_->io, [weak = std::weak_ptr(impl_)] {
    asio::error_code ignored;
    if (const auto impl = weak.lock()) impl->acceptor.close(ignored);
  });
}

Result<std::unique_ptr<Link>> Listener::accept(std::optional<milliseconds> limit) {
  constexpr milliseconds kForever = std::chrono::hours(24 * 365);
  Reception reception(*impl_->io, impl_->acceptor, impl_->options);
  HAIRPIN_TRY(auto streams, reception.run(limit.value_or(kForever)));
  return link_over(impl_->io, std::move(streams), wire::Role::cloud, impl_->options);
}

}  // namespace hairpin::link
