// Who gets into a link of several connections, and who cannot hold it up.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <future>
#include <thread>

#include "hairpin/link/raw_peer.h"
#include "hairpin/link/test_keys.h"
#include "hairpin/link/tls_context.h"
#include "hairpin/link/tls_link.h"

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TlsLinkOptions plain(std::uint16_t port, int connections) {
  return {.port = port, .insecure_loopback = true, .connections = connections};
}

struct Waiting {
  explicit Waiting(const TlsLinkOptions& options)
      : listener(Listener::bind(options).value()),
        cloud(std::async(std::launch::async, [this] { return listener.accept(60s); })) {}
  ~Waiting() { listener.stop(); }

  Listener listener;
  std::future<Result<std::unique_ptr<Link>>> cloud;
};

wire::Opening opening(int connection, int connections, const wire::SessionId& session = {}) {
  return {static_cast<std::uint8_t>(connection), static_cast<std::uint8_t>(connections), session};
}

wire::Opening answer_to(RawPeer& peer) {
  const auto bytes = peer.read(wire::kOpeningBytes);
  return wire::decode_opening(as_byte_span(bytes)).value();
}

// A TLS client with an edge's keys that speaks bytes.
class TlsPeer {
 public:
  TlsPeer(std::uint16_t port, const std::filesystem::path& keys)
      : peer_(port), context_(make_tls_context(wire::Role::edge, keys).value()) {
    ssl_ = SSL_new(context_.get());
    SSL_set_fd(ssl_, peer_.fd());
    EXPECT_EQ(SSL_connect(ssl_), 1);
  }
  TlsPeer(const TlsPeer&) = delete;
  ~TlsPeer() { SSL_free(ssl_); }

  void write(ByteSpan bytes) {
    EXPECT_EQ(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
  }
  // At most so many bytes; none where the other side closes.
  std::string read(std::size_t size) {
    std::string some(size, '\0');
    const int got = SSL_read(ssl_, some.data(), static_cast<int>(size));
    some.resize(static_cast<std::size_t>(std::max(got, 0)));
    return some;
  }

 private:
  RawPeer peer_;
  TlsContext context_;
  SSL* ssl_ = nullptr;
};

TEST(Reception, AnotherNumberOfConnectionsIsNamedOnBothSides) {
  Waiting waiting(plain(0, 2));
  const auto edge = dial(plain(waiting.listener.port(), 4));
  const auto cloud = waiting.cloud.get();
  for (const auto* side : {&edge, &cloud}) {
    ASSERT_FALSE(*side);
    EXPECT_EQ(side->error().kind, ErrorKind::peer);
    expect_contains(side->error().message,
                    "link.connections is 4 at the edge and 2 at the cloud; make them agree");
  }
}

// Silent ones, more than are heard at once, and one that never ends its opening.
TEST(Reception, NobodyCanHoldUpTheEdge) {
  auto options = plain(0, 4);
  options.handshake_timeout = 3600s;  // they would stay
  Waiting waiting(options);
  const auto port = waiting.listener.port();
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(std::make_unique<RawPeer>(port));
  silent.back()->write(ByteSpan(wire::encode(opening(0, 4))).first(30));
  EXPECT_EQ(silent.front()->read_all(), "");  // had to leave
  auto edge = dial(plain(port, 4));
  ASSERT_TRUE(edge) << edge.error().message;
  const auto cloud = waiting.cloud.get();
  ASSERT_TRUE(cloud);
  ASSERT_TRUE((*edge)->send(wire::WeightsRequest{}));
  EXPECT_TRUE((*cloud)->receive());
}

TEST(Reception, WithoutTheSessionsIdNobodyJoins) {
  Waiting waiting(plain(0, 2));
  const auto port = waiting.listener.port();
  RawPeer first(port);
  first.write(wire::encode(opening(0, 2)));
  const auto session = answer_to(first).session;
  EXPECT_NE(session, wire::SessionId{});
  auto guessed = session;
  guessed[31] ^= std::byte{1};
  for (const auto& id : {wire::SessionId{}, guessed}) {
    RawPeer stranger(port);
    stranger.write(wire::encode(opening(1, 2, id)));
    stranger.half_close();
    EXPECT_EQ(stranger.read_all(), "");
  }
  RawPeer second(port);
  second.write(wire::encode(opening(1, 2, session)));
  EXPECT_EQ(answer_to(second), opening(1, 2, session));
  const auto cloud = waiting.cloud.get();
  ASSERT_TRUE(cloud);
  first.write(fragment_of(wire::WeightsRequest{}, 0));
  EXPECT_TRUE((*cloud)->receive());
}

TEST(Reception, AnEdgeMayBeginAnew) {
  Waiting waiting(plain(0, 2));
  const auto port = waiting.listener.port();
  RawPeer gone(port);
  gone.write(wire::encode(opening(0, 2)));
  answer_to(gone);
  auto edge = dial(plain(port, 2));
  ASSERT_TRUE(edge) << edge.error().message;
  ASSERT_TRUE(waiting.cloud.get());
  EXPECT_EQ(gone.read_all(), "");
}

TEST(Reception, AnIncompleteSessionIsForgotten) {
  auto options = plain(0, 2);
  options.handshake_timeout = 100ms;
  Waiting waiting(options);
  RawPeer first(waiting.listener.port());
  first.write(wire::encode(opening(0, 2)));
  EXPECT_EQ(first.read_all().size(), wire::kOpeningBytes);  // and then the end
  EXPECT_TRUE(dial(plain(waiting.listener.port(), 2)));
  EXPECT_TRUE(waiting.cloud.get());
}

// Two edges of one authority: the second one knows the first one's session id and still cannot
// join.
TEST(Reception, AnotherCertificateCannotJoin) {
  const auto authority = CertificateAuthority::create();
  const TestKeys cloud_keys(authority, wire::Role::cloud);
  const TestKeys edge_keys(authority, wire::Role::edge), other_keys(authority, wire::Role::edge);
  Waiting waiting({.port = 0, .keys = cloud_keys.directory(), .connections = 2});
  const auto port = waiting.listener.port();
  TlsPeer first(port, edge_keys.directory());
  first.write(wire::encode(opening(0, 2)));
  const auto session =
      wire::decode_opening(as_byte_span(first.read(wire::kOpeningBytes))).value().session;
  TlsPeer other(port, other_keys.directory());
  other.write(wire::encode(opening(1, 2, session)));
  EXPECT_EQ(other.read(wire::kOpeningBytes), "");
  TlsPeer second(port, edge_keys.directory());
  second.write(wire::encode(opening(1, 2, session)));
  EXPECT_EQ(second.read(wire::kOpeningBytes).size(), wire::kOpeningBytes);
  EXPECT_TRUE(waiting.cloud.get());
}

// A link of two connections, the peer being raw.
struct TwoConnections {
  TwoConnections() {
    first.write(wire::encode(opening(0, 2)));
    second.write(wire::encode(opening(1, 2, answer_to(first).session)));
    cloud = waiting.cloud.get().value();
  }
  Waiting waiting{plain(0, 2)};
  RawPeer first{waiting.listener.port()}, second{waiting.listener.port()};
  std::unique_ptr<Link> cloud;
};

TEST(Reception, OneBrokenConnectionEndsTheLink) {
  for (const bool of_bulk : {false, true}) {
    TwoConnections link;
    (of_bulk ? link.second : link.first).reset();
    const auto message = link.cloud->receive();
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().kind, ErrorKind::link_lost);
    expect_contains(message.error().message, "the edge's process ended or the connection broke (");
  }
}

TEST(Reception, AReasonOnOneConnectionCountsMoreThanTheEndOfAnother) {
  TwoConnections link;
  link.second.reset();
  link.first.write(fragment_of(wire::Refusal{3, "the disk is full"}, 0));
  const auto message = link.cloud->receive();
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().message, "the edge refused: the disk is full");
}

TEST(Reception, BulkIsTakenFromAnyConnection) {
  TwoConnections link;
  link.second.write(fragment_of(wire::WeightsChunk{.entry = 1}, 1));
  link.first.write(fragment_of(wire::WeightsChunk{.entry = 0}, 0));
  EXPECT_EQ(std::get<wire::WeightsChunk>(link.cloud->receive().value()).entry, 0u);
  EXPECT_EQ(std::get<wire::WeightsChunk>(link.cloud->receive().value()).entry, 1u);
}

}  // namespace
}  // namespace hairpin::link
