// The link against peers that do not behave, byte by byte; without TLS, which is below all this.
#include <gtest/gtest.h>

#include <chrono>
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

struct Session {
  explicit Session(std::chrono::milliseconds peer_timeout = 60s)
      : listener(
            Listener::bind({.port = 0, .insecure_loopback = true, .peer_timeout = peer_timeout})
                .value()),
        peer(listener.port()),
        cloud(listener.accept().value()) {}

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

TEST(StreamLink, NotAFrame) {
  const auto error = error_after(as_byte_span("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "does not speak Hairpin's protocol");
}

TEST(StreamLink, AnotherVersion) {
  auto frame = wire::encode(wire::Hello{.protocol_version = 2}, 0);
  frame[4] = std::byte{2};
  const auto error = error_after(frame);
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "version 2 and this site version 1");
}

TEST(StreamLink, OversizedBeforeAnyOfItArrives) {
  auto frame = wire::encode(wire::Hello{}, 0);
  frame[13] = std::byte{1};  // 1 TiB
  const auto error = error_after(ByteSpan(frame).first(wire::kHeaderBytes));
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "at most 1048576 bytes");
}

TEST(StreamLink, Malformed) {
  auto frame = wire::encode(wire::Hello{}, 0);
  frame.back() ^= std::byte{1};
  EXPECT_EQ(error_after(frame).kind, ErrorKind::peer);
}

TEST(StreamLink, FrameOutOfSequence) {
  auto frames = wire::encode(wire::Heartbeat{}, 0);
  const auto second = wire::encode(wire::Heartbeat{}, 2);
  frames.insert(frames.end(), second.begin(), second.end());
  const auto error = error_after(frames);
  EXPECT_EQ(error.kind, ErrorKind::peer);
  expect_contains(error.message, "the edge sent frame 2 where frame 1 was due");
}

TEST(StreamLink, EndInsideAFrameAndReset) {
  for (const bool reset : {false, true}) {
    Session session;
    session.peer.write(ByteSpan(wire::encode(wire::Hello{}, 0)).first(10));
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
  const auto frame = wire::encode(wire::WeightsRequest{}, 0);
  for (std::size_t i = 0; i < frame.size(); i += 2) {
    session.peer.write(ByteSpan(frame).subspan(i, 2));
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_TRUE(session.cloud->receive());
}

TEST(StreamLink, APeerThatDoesNotReadCannotHoldTheEnd) {
  Session session;
  session.peer.write(wire::encode(wire::WeightsRequest{}, 0));
  ASSERT_TRUE(session.cloud->receive());
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(session.cloud->send(wire::WeightsChunk{.payload = Bytes(1 << 20)}));
  session.cloud->fail({ErrorKind::internal, "enough"});
  session.cloud.reset();  // returns
}

TEST(StreamLink, HeartbeatsGoBothWaysWhenNothingElseDoes) {
  auto listener =
      Listener::bind({.port = 0, .insecure_loopback = true, .heartbeat_interval = 20ms}).value();
  auto edge = dial({.port = listener.port(), .insecure_loopback = true, .heartbeat_interval = 20ms})
                  .value();
  auto cloud = listener.accept().value();
  while (edge->received().messages < 3 || cloud->received().messages < 3)
    std::this_thread::sleep_for(5ms);
  ASSERT_TRUE(edge->send(wire::WeightsRequest{}));
  EXPECT_TRUE(std::holds_alternative<wire::WeightsRequest>(cloud->receive().value()));
}

}  // namespace
}  // namespace hairpin::link
