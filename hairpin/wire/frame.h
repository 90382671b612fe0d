// One message as bytes and back: a 32-byte header, then the body. docs/protocol.md describes every
// byte; the numbers below never change. Pure functions, safe from any thread.
//
// Whatever is decoded is a peer's and is not trusted: every count is held against the bytes that
// are there before anything is allocated, and every error is ErrorKind::peer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::wire {

inline constexpr std::size_t kHeaderBytes = 32;

enum class MessageType : std::uint8_t {
  hello = 1,
  contract_offer = 2,
  manifest = 3,
  tensor = 4,
  step_scalars = 5,
  weights_request = 6,
  weights_manifest = 7,
  weights_chunk = 8,
  heartbeat = 9,
  goodbye = 10,
  refusal = 11,
  step_times = 12,
};

MessageType type_of(const Message& message);

// A checked header: known type, this protocol version, a body within the bound.
struct Header {
  MessageType type = MessageType::hello;
  std::uint64_t body_bytes = 0;
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;  // of header and body together; verified by decode_body
};

// Who goes first. Control is small and urgent and may overtake bulk; within a lane the order is
// kept. A goodbye is bulk: it must not overtake anything.
enum class Lane : std::uint8_t { control = 0, bulk = 1 };
Lane lane_of(const Message& message);
Lane lane_of(MessageType type);

// The whole frame. `sequence` counts a sender's frames of one lane from 0. A message that breaks
// its own contract (a payload that does not fit its shape and codec) is a broken invariant.
Bytes encode(const Message& message, std::uint64_t sequence);

// The same frame without a copy of the payload: `head`, then `payload`, which is the message's own.
struct FrameParts {
  Bytes head;
  ByteSpan payload;
  std::uint64_t size() const { return head.size() + payload.size(); }
};
FrameParts encode_parts(const Message& message, std::uint64_t sequence);

// `bytes` are the first kHeaderBytes of a frame. Refuses another version (naming both), an unknown
// type and a frame (header and body) of more than `max_frame_bytes`.
Result<Header> decode_header(ByteSpan bytes, std::uint64_t max_frame_bytes);

// `body` are the header.body_bytes after the header. Refuses a wrong checksum, a malformed body
// and bytes left over. `encode(*decode_body(h, b), h.sequence)` gives the same frame again.
Result<Message> decode_body(const Header& header, ByteSpan body);

}  // namespace hairpin::wire
