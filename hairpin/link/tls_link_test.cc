#include "hairpin/link/tls_link.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "hairpin/link/raw_peer.h"
#include "hairpin/link/test_keys.h"

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;
using wire::Role;

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

void expect_bad_input(const Result<void>& result, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  expect_contains(result.error().message, part);
}

Result<void> bound(const TlsLinkOptions& options) {
  if (auto listener = Listener::bind(options); !listener) return tl::unexpected(listener.error());
  return {};
}
Result<void> dialled(const TlsLinkOptions& options) {
  if (auto link = dial(options); !link) return tl::unexpected(link.error());
  return {};
}

struct Errors {
  Error edge, cloud;
};

// Both sides' errors with these keys: at the edge from dial() or from the first receive().
Errors errors_with(const std::filesystem::path& edge_keys,
                   const std::filesystem::path& cloud_keys) {
  auto listener = Listener::bind({.port = 0, .keys = cloud_keys}).value();
  auto cloud = std::async(std::launch::async, [&] { return listener.accept(60s); });
  auto edge = dial({.port = listener.port(), .keys = edge_keys});
  auto edge_error = edge ? (*edge)->receive().error() : edge.error();
  const auto cloud_link = cloud.get();
  EXPECT_FALSE(cloud_link);
  return {std::move(edge_error), cloud_link ? Error{} : cloud_link.error()};
}

struct BadCertificate {
  std::string name;
  Role role;  // of the certificate
  Validity validity;
  bool other_authority;
  std::string found;  // what the other side says
  std::string told;   // what its owner hears
};

class WrongCertificate : public testing::TestWithParam<BadCertificate> {};

TEST_P(WrongCertificate, OfTheEdge) {
  const auto& bad = GetParam();
  const auto authority = CertificateAuthority::create(), other = CertificateAuthority::create();
  const TestKeys cloud(authority, Role::cloud);
  const TestKeys edge(bad.other_authority ? other : authority,
                      bad.role == Role::edge ? Role::edge : Role::cloud, bad.validity);
  if (bad.other_authority)  // the edge itself trusts the cloud
    std::filesystem::copy(cloud.directory() / "ca.pem", edge.directory() / "ca.pem",
                          std::filesystem::copy_options::overwrite_existing);
  const auto errors = errors_with(edge.directory(), cloud.directory());
  EXPECT_EQ(errors.cloud.kind, ErrorKind::peer) << errors.cloud.message;
  EXPECT_EQ(errors.edge.kind, ErrorKind::peer) << errors.edge.message;
  expect_contains(errors.cloud.message, "the edge's certificate " + bad.found);
  expect_contains(errors.edge.message, "the cloud refused this edge's certificate: " + bad.told);
}

TEST_P(WrongCertificate, OfTheCloud) {
  const auto& bad = GetParam();
  const auto authority = CertificateAuthority::create(), other = CertificateAuthority::create();
  const TestKeys edge(authority, Role::edge);
  const TestKeys cloud(bad.other_authority ? other : authority,
                       bad.role == Role::edge ? Role::cloud : Role::edge, bad.validity);
  if (bad.other_authority)
    std::filesystem::copy(edge.directory() / "ca.pem", cloud.directory() / "ca.pem",
                          std::filesystem::copy_options::overwrite_existing);
  const auto errors = errors_with(edge.directory(), cloud.directory());
  EXPECT_EQ(errors.edge.kind, ErrorKind::peer) << errors.edge.message;
  EXPECT_EQ(errors.cloud.kind, ErrorKind::peer) << errors.cloud.message;
  expect_contains(errors.edge.message, "the cloud's certificate " + bad.found);
  expect_contains(errors.cloud.message, "the edge refused this cloud's certificate: " + bad.told);
}

// `role` edge: its owner's right role; cloud: the other one.
INSTANTIATE_TEST_SUITE_P(
    Tls, WrongCertificate,
    testing::Values(
        BadCertificate{"Expired", Role::edge, {-10, 5}, false, "has expired", "it has expired"},
        BadCertificate{"NotYetValid",
                       Role::edge,
                       {5, 10},
                       false,
                       "is not valid yet",
                       "it is not valid, or not yet"},
        BadCertificate{"OtherAuthority",
                       Role::edge,
                       {},
                       true,
                       "is of another authority",
                       "it is of another authority"},
        BadCertificate{
            "OtherRole", Role::cloud, {}, false, "is not for the ", "it is not for this role"}),
    [](const auto& bad) { return bad.param.name; });

// A TLS client of its own, without a certificate.
void connect_without_certificate(std::uint16_t port, int max_version) {
  RawPeer peer(port);
  auto* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, max_version);
  auto* ssl = SSL_new(context);
  SSL_set_fd(ssl, peer.fd());
  char byte = 0;
  if (SSL_connect(ssl) == 1) {
    EXPECT_LE(SSL_read(ssl, &byte, 1), 0);
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
}

TEST(TlsLink, NoCertificateEndsTheCloud) {
  const TestKeys keys;
  auto listener = Listener::bind({.port = 0, .keys = keys.directory() / "cloud"}).value();
  std::jthread client([&] { connect_without_certificate(listener.port(), TLS1_3_VERSION); });
  const auto link = listener.accept(60s);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind, ErrorKind::peer);
  expect_contains(link.error().message, "the edge showed no certificate; give it keys (edge.keys)");
}

TEST(TlsLink, StrangersAreNoEndOfTheWait) {
  const TestKeys keys;
  auto listener = Listener::bind({.port = 0, .keys = keys.directory() / "cloud"}).value();
  const auto port = listener.port();
  auto cloud = std::async(std::launch::async, [&] { return listener.accept(60s); });
  {
    RawPeer browser(port), scanner(port);
    browser.write(as_byte_span("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    scanner.reset();
    browser.read_all();
  }
  connect_without_certificate(port, TLS1_2_VERSION);
  auto edge = dial({.port = port, .keys = keys.directory() / "edge"});
  ASSERT_TRUE(edge) << edge.error().message;
  ASSERT_TRUE((*edge)->send(wire::WeightsRequest{}));
  auto link = cloud.get();
  ASSERT_TRUE(link) << link.error().message;
  EXPECT_TRUE((*link)->receive());
}

TEST(TlsLink, OnlyOneEdgeIsTaken) {
  const TestKeys keys;
  auto listener = Listener::bind({.port = 0, .keys = keys.directory() / "cloud"}).value();
  auto cloud = std::async(std::launch::async, [&] { return listener.accept(60s); });
  const auto edge = dial({.port = listener.port(), .keys = keys.directory() / "edge"});
  ASSERT_TRUE(edge);
  ASSERT_TRUE(cloud.get());
  expect_contains(
      dialled(
          {.port = listener.port(), .keys = keys.directory() / "edge", .connect_timeout = 200ms})
          .error()
          .message,
      "no cloud at 127.0.0.1:");
}

TEST(TlsLink, AcceptHasALimitAndCanBeStopped) {
  auto listener = Listener::bind({.port = 0, .insecure_loopback = true}).value();
  listener.stop();
  EXPECT_EQ(listener.accept().error().kind, ErrorKind::link_lost);
  auto second = Listener::bind({.port = 0, .insecure_loopback = true}).value();
  expect_contains(second.accept(10ms).error().message, "within 0.01 s");
}

TEST(TlsLink, NobodyListens) {
  std::uint16_t port = 0;
  {
    port = Listener::bind({.port = 0, .insecure_loopback = true}).value().port();
  }
  const auto result = dialled({.port = port, .insecure_loopback = true, .connect_timeout = 120ms});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::link_lost);
  expect_contains(result.error().message,
                  "within 0.12 s (Connection refused); start `hairpin cloud`");
}

TEST(TlsLink, TheEdgeDialsUntilTheCloudListens) {
  std::uint16_t port = 0;
  {
    port = Listener::bind({.port = 0, .insecure_loopback = true}).value().port();
  }
  auto edge = std::async(std::launch::async,
                         [&] { return dial({.port = port, .insecure_loopback = true}); });
  std::this_thread::sleep_for(100ms);
  auto listener = Listener::bind({.port = port, .insecure_loopback = true});
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_TRUE(listener->accept(60s));
  EXPECT_TRUE(edge.get());
}

TEST(TlsLink, TlsMeetsPlain) {
  const TestKeys keys;
  auto listener = Listener::bind({.port = 0, .insecure_loopback = true}).value();
  auto edge = std::async(std::launch::async, [&] {
    return dialled({.port = listener.port(), .keys = keys.directory() / "edge"});
  });
  const auto cloud_error = listener.accept();
  const auto edge_error = edge.get();
  ASSERT_FALSE(cloud_error);
  ASSERT_FALSE(edge_error);
  EXPECT_EQ(cloud_error.error().kind, ErrorKind::peer);
  EXPECT_EQ(edge_error.error().kind, ErrorKind::peer);
  expect_contains(edge_error.error().message, "does not speak Hairpin's TLS 1.3");
}

TEST(TlsLink, ThePortIsTaken) {
  const auto first = Listener::bind({.port = 0, .insecure_loopback = true}).value();
  expect_bad_input(bound({.port = first.port(), .insecure_loopback = true}), "the port is taken");
}

TEST(TlsLink, WithoutTlsOnlyAtLoopback) {
  for (const auto* host : {"0.0.0.0", "localhost", "192.0.2.1", "127.0.0.2"}) {
    const TlsLinkOptions options{.host = host, .port = 0, .insecure_loopback = true};
    expect_bad_input(bound(options), host);
    expect_bad_input(dialled(options), "only 127.0.0.1 is allowed");
  }
}

TEST(TlsLink, OwnKeysThatDoNotLoad) {
  const auto broken = [](const std::function<void(const std::filesystem::path&)>& damage,
                         std::string_view part) {
    const TestKeys keys;
    damage(keys.directory());
    for (const auto* site : {"edge", "cloud"}) {
      const TlsLinkOptions options{.port = 0, .keys = keys.directory() / site};
      expect_bad_input(site == std::string_view("edge") ? dialled(options) : bound(options), part);
    }
  };
  const auto both = [](const std::filesystem::path& keys, auto change) {
    for (const auto* site : {"edge", "cloud"}) change(keys / site);
  };
  for (const auto* file : {"cert.pem", "key.pem", "ca.pem"}) {
    broken([&](auto keys) { both(keys, [&](auto site) { std::filesystem::remove(site / file); }); },
           file);
    broken([&](auto keys) { both(keys, [&](auto site) { std::ofstream(site / file) << "no"; }); },
           file);
  }
  broken(
      [](auto keys) {
        std::filesystem::rename(keys / "edge/key.pem", keys / "key.pem");
        std::filesystem::rename(keys / "cloud/key.pem", keys / "edge/key.pem");
        std::filesystem::rename(keys / "key.pem", keys / "cloud/key.pem");
      },
      "key.pem: not the unencrypted PEM key of ");
}

}  // namespace
}  // namespace hairpin::link
