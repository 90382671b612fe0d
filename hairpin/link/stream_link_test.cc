// The link against peers that do not behave, byte by byte; without TLS, which is below all this.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "hairpin/link/raw_peer.h"
#include "hairpin/link/tls_link.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {
namespace {

using namespace std::chrono_literals;

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TlsLinkOptions one_connection() { return {.port = 0, .insecure_loopback = true, .connections = 1}; }

TlsLinkOptions with_timeout(std::chrono::milliseconds peer_timeout) {
  auto options = one_connection();
  options.peer_timeout = peer_timeout;
  return options;
}

struct Session {
  explicit Session(std::chrono::milliseconds peer_timeout = 60s)
      : listener(Listener::bind(with_timeout(peer_timeout)).value()), peer(listener.port()) {
    peer.write(wire::encode(wire::Opening{}));
    cloud = listener.accept().value();
  }

  Listener listener;
  RawPeer peer;
  std::unique_ptr<Link> cloud;
};

Error error_after(ByteSpan bytes) {
  Session session;
  session.peer.write(bytes);
  const auto message = session.cloud->receive();
  EXPECT_FALSE(message);
  const auto told = session.peer.read_all();
  session.peer.close();
  if (message.error().kind == ErrorKind::peer) {
    // The peer hears why, in a frame of its own.
    expect_contains(told, message.error().message);
  }
  return message.error();
}

// The same for what comes instead of the opening; the cloud answers with its own.
Error error_at_opening(ByteSpan bytes) {
  auto listener = Listener::bind(one_connection()).value();
  RawPeer peer(listener.port());
  peer.write(bytes);
  peer.half_close();
  const auto link = listener.accept();
  EXPECT_FALSE(link);
  expect_contains(peer.read_all(), "HPIN");
  return link.error();
}

TEST(StreamLink, NotAnOpening) {
  const auto error = error_at_opening(as_byte_span("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "does not speak Hairpin's protocol");
}

TEST(StreamLink, AnotherVersion) {
  auto opening = wire::encode(wire::Opening{});
  opening[4] = std::byte{1};
  const auto error = error_at_opening(opening);
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "version 1 and this site version 2");
}

TEST(StreamLink, NotAFragment) {
  const auto error = error_after(Bytes(100, std::byte{'G'}));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "does not speak Hairpin's protocol");
}

TEST(StreamLink, OversizedBeforeAnyOfItArrives) {
  auto fragment = fragment_of(wire::Hello{}, 0);
  fragment[29] = std::byte{1};  // 1 TiB
  const auto error = error_after(ByteSpan(fragment).first(wire::kFragmentHeaderBytes));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "at most 1048576 bytes");
}

TEST(StreamLink, Malformed) {
  auto fragment = fragment_of(wire::Hello{}, 0);
  fragment.back() ^= std::byte{1};
  EXPECT_EQ(error_after(fragment).kind, ErrorKind::peer);
}

TEST(StreamLink, FrameOutOfSequence) {
  auto frames = fragment_of(wire::StepScalars{}, 0);
  const auto second = fragment_of(wire::StepScalars{}, 2);
  frames.insert(frames.end(), second.begin(), second.end());
  Session session;
  session.peer.write(frames);
  EXPECT_TRUE(session.cloud->receive());
  const auto error = session.cloud->receive().error();
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "control frame 2 where control frame 1 was due");
}

TEST(StreamLink, AnEchoOfWhatWasNeverSent) {
  const auto error = error_after(fragment_of(wire::Heartbeat{.sent = 1, .echo = 1 << 30}, 0));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "the peer echoes a heartbeat of microsecond 1073741824");
}

TEST(StreamLink, EndInsideAFrameAndReset) {
  for (const bool reset : {false, true}) {
    Session session;
    session.peer.write(ByteSpan(fragment_of(wire::Hello{}, 0)).first(10));
    reset ? session.peer.reset() : session.peer.close();
    const auto message = session.cloud->receive();
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().kind, ErrorKind::link_lost);
    expect_contains(message.error().message, "the edge's process ended or the connection broke (");
  }
}

TEST(StreamLink, SilentPeer) {
  Session session(300ms);
  const auto message = session.cloud->receive();
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind, ErrorKind::link_lost);
  expect_contains(message.error().message, "not a byte from the edge for 0.3 s");
  expect_contains(session.peer.read_all(), "not a byte from the edge");
}

// One frame that takes much longer than the timeout, a byte now and then.
TEST(StreamLink, TheTimeoutRestartsWhileBytesMove) {
  Session session(2s);
  const auto frame = fragment_of(wire::WeightsRequest{}, 0);
  for (std::size_t i = 0; i < frame.size(); i += 6) {
    session.peer.write(ByteSpan(frame).subspan(i, std::min<std::size_t>(6, frame.size() - i)));
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_TRUE(session.cloud->receive());
}

TEST(StreamLink, APeerThatDoesNotReadCannotHoldTheEnd) {
  Session session;
  session.peer.write(fragment_of(wire::WeightsRequest{}, 0));
  ASSERT_TRUE(session.cloud->receive());
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(session.cloud->send(wire::WeightsChunk{.payload = Bytes(1 << 20)}));
  session.cloud->fail({ErrorKind::internal, "enough"});
  session.cloud.reset();  // returns
}

TEST(StreamLink, HeartbeatsGoBothWaysWhenNothingElseDoes) {
  const TlsLinkOptions options{
      .port = 0, .insecure_loopback = true, .heartbeat_interval = std::chrono::milliseconds(20)};
  auto listener = Listener::bind(options).value();
  auto edge_options = options;
  edge_options.port = listener.port();
  auto dialling = std::async(std::launch::async, [&] { return dial(edge_options); });
  auto cloud = listener.accept().value();
  auto edge = dialling.get().value();
  while (edge->received().messages < 3 || cloud->received().messages < 3)
    std::this_thread::sleep_for(5ms);
  ASSERT_TRUE(edge->send(wire::WeightsRequest{}));
  EXPECT_TRUE(std::holds_alternative<wire::WeightsRequest>(cloud->receive().value()));
  while (edge->estimate().rtt_samples < 1 || cloud->estimate().rtt_samples < 1)
    std::this_thread::sleep_for(5ms);
  EXPECT_GT(edge->estimate().rtt_seconds, 0);
  EXPECT_LE(edge->estimate().min_rtt_seconds, edge->estimate().rtt_seconds);
}

}  // namespace
}  // namespace hairpin::link
