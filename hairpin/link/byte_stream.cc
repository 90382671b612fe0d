#include "hairpin/link/byte_stream.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <asio/redirect_error.hpp>
#include <asio/ssl.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "hairpin/base/check.h"
#include "hairpin/link/tls_fault.h"

namespace hairpin::link {
namespace {

using asio::redirect_error;
using asio::use_awaitable;
using Tcp = asio::ip::tcp;

Error broken(const asio::error_code& error, wire::Role own) {
  const auto peer = own == wire::Role::edge ? wire::Role::cloud : wire::Role::edge;
  return {ErrorKind::link_lost, fmt::format("the {}'s process ended or the connection broke ({})",
                                            wire::role_name(peer), error.message())};
}

class PlainByteStream : public ByteStream {
 public:
  explicit PlainByteStream(Tcp::socket socket) : socket_(std::move(socket)) {}

  asio::awaitable<void> handshake(wire::Role, asio::error_code&) override { co_return; }
  long verify_result() override { return X509_V_OK; }
  Digest peer_fingerprint() override { return {}; }
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer,
                                         asio::error_code& error) override {
    co_return co_await socket_.async_read_some(buffer, redirect_error(use_awaitable, error));
  }
  asio::awaitable<void> write(asio::const_buffer buffer, asio::error_code& error) override {
    co_await asio::async_write(socket_, buffer, redirect_error(use_awaitable, error));
  }
  asio::awaitable<void> close_write() override {
    asio::error_code ignored;
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    co_return;
  }
  Tcp::socket& socket() override { return socket_; }
  Error explain(const asio::error_code& error, wire::Role own) override {
    return broken(error, own);
  }

 private:
  Tcp::socket socket_;
};

class TlsByteStream : public ByteStream {
 public:
  TlsByteStream(Tcp::socket socket, TlsContext context)
      : context_(context.release()), stream_(std::move(socket), context_) {}

  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer,
                                         asio::error_code& error) override {
    co_return co_await stream_.async_read_some(buffer, redirect_error(use_awaitable, error));
  }
  asio::awaitable<void> write(asio::const_buffer buffer, asio::error_code& error) override {
    co_await asio::async_write(stream_, buffer, redirect_error(use_awaitable, error));
  }
  asio::awaitable<void> close_write() override {
    asio::error_code ignored;
    co_await stream_.async_shutdown(redirect_error(use_awaitable, ignored));
  }
  Tcp::socket& socket() override { return stream_.next_layer(); }

  asio::awaitable<void> handshake(wire::Role own, asio::error_code& error) override {
    const auto side =
        own == wire::Role::edge ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
    co_await stream_.async_handshake(side, redirect_error(use_awaitable, error));
  }
  long verify_result() override { return SSL_get_verify_result(stream_.native_handle()); }
  Digest peer_fingerprint() override {
    Digest digest{};
    auto* certificate = SSL_get1_peer_certificate(stream_.native_handle());
    HAIRPIN_CHECK(certificate != nullptr, "a TLS peer without a certificate");
    X509_digest(certificate, EVP_sha256(), reinterpret_cast<unsigned char*>(digest.data()),
                nullptr);
    X509_free(certificate);
    return digest;
  }

  // In TLS 1.3 the edge's handshake is over before the cloud has looked at its certificate: the
  // alert comes with the first read.
  Error explain(const asio::error_code& error, wire::Role own) override {
    if (error.category() != asio::error::get_ssl_category()) return broken(error, own);
    auto fault = tls_fault(static_cast<unsigned long>(error.value()), X509_V_OK, own,
                           peer_address(socket()));
    return fault.certificate ? std::move(fault.error) : broken(error, own);
  }

 private:
  asio::ssl::context context_;
  asio::ssl::stream<Tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<ByteStream> make_plain_stream(Tcp::socket socket) {
  return std::make_unique<PlainByteStream>(std::move(socket));
}

std::unique_ptr<ByteStream> make_tls_stream(Tcp::socket socket, TlsContext context) {
  return std::make_unique<TlsByteStream>(std::move(socket), std::move(context));
}

std::string peer_address(const Tcp::socket& socket) {
  asio::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "the peer";
  return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

}  // namespace hairpin::link
