#include "hairpin/wire/frame.h"

#include <algorithm>

#include "hairpin/wire/body.h"
#include "hairpin/wire/magic.h"

namespace hairpin::wire {
namespace {

Bytes header_start(MessageType type, std::uint64_t body_bytes, std::uint64_t sequence) {
  Bytes bytes;
  bytes.reserve(kHeaderBytes);
  ByteWriter out(bytes);
  write_magic(out);
  out.number(static_cast<std::uint8_t>(type));
  out.number(std::uint8_t{0});  // flags
  out.number(body_bytes);
  out.number(sequence);
  return bytes;
}

// XXH3-64 of the header's first 24 bytes followed by XXH3-64 of the body: both are covered, and
// neither has to be copied behind the other.
std::uint64_t checksum(MessageType type, std::uint64_t sequence, ByteSpan head, ByteSpan payload) {
  auto bytes = header_start(type, head.size() + payload.size(), sequence);
  ByteWriter(bytes).number(xxh3(head, payload));
  return xxh3(bytes);
}

bool known(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(MessageType::hello) &&
         type <= static_cast<std::uint8_t>(MessageType::step_times);
}

}  // namespace

MessageType type_of(const Message& message) {
  struct Type {
    MessageType operator()(const Hello&) const { return MessageType::hello; }
    MessageType operator()(const ContractOffer&) const { return MessageType::contract_offer; }
    MessageType operator()(const Manifest&) const { return MessageType::manifest; }
    MessageType operator()(const TensorMessage&) const { return MessageType::tensor; }
    MessageType operator()(const StepScalars&) const { return MessageType::step_scalars; }
    MessageType operator()(const WeightsRequest&) const { return MessageType::weights_request; }
    MessageType operator()(const WeightsManifest&) const { return MessageType::weights_manifest; }
    MessageType operator()(const WeightsChunk&) const { return MessageType::weights_chunk; }
    MessageType operator()(const Heartbeat&) const { return MessageType::heartbeat; }
    MessageType operator()(const Goodbye&) const { return MessageType::goodbye; }
    MessageType operator()(const Refusal&) const { return MessageType::refusal; }
    MessageType operator()(const StepTimes&) const { return MessageType::step_times; }
  };
  return std::visit(Type{}, message);
}

Lane lane_of(MessageType type) {
  switch (type) {
    case MessageType::tensor:
    case MessageType::weights_manifest:
    case MessageType::weights_chunk:
    case MessageType::goodbye: return Lane::bulk;
    default: return Lane::control;
  }
}

Lane lane_of(const Message& message) { return lane_of(type_of(message)); }

FrameParts encode_parts(const Message& message, std::uint64_t sequence) {
  FrameParts frame{Bytes(kHeaderBytes), payload_of(message)};
  encode_body_head(message, frame.head);
  const auto body_head = ByteSpan(frame.head).subspan(kHeaderBytes);
  const auto type = type_of(message);
  auto header = header_start(type, body_head.size() + frame.payload.size(), sequence);
  ByteWriter(header).number(checksum(type, sequence, body_head, frame.payload));
  std::copy(header.begin(), header.end(), frame.head.begin());
  return frame;
}

Bytes encode(const Message& message, std::uint64_t sequence) {
  auto [frame, payload] = encode_parts(message, sequence);
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

Result<Header> decode_header(ByteSpan bytes, std::uint64_t max_frame_bytes) {
  ByteReader in(bytes.first(std::min(bytes.size(), kHeaderBytes)));
  HAIRPIN_CHECK_OK(read_magic(in));
  const auto type = in.number<std::uint8_t>();
  const auto flags = in.number<std::uint8_t>();
  Header header{.body_bytes = in.number<std::uint64_t>(), .sequence = in.number<std::uint64_t>()};
  header.checksum = in.number<std::uint64_t>();
  if (!in.ok()) return fail(ErrorKind::peer, "the peer sent a frame header cut short");
  if (!known(type) || flags != 0)
    return fail(ErrorKind::peer,
                "the peer sent a frame of type {} with flags {}, which protocol version {} does "
                "not have; install the same release of Hairpin on both sites",
                type, flags, kProtocolVersion);
  if (max_frame_bytes < kHeaderBytes || header.body_bytes > max_frame_bytes - kHeaderBytes)
    return fail(ErrorKind::peer,
                "the peer sent a frame with a body of {} bytes where a frame of at most {} bytes "
                "is allowed; compare the two sites' jobs",
                header.body_bytes, max_frame_bytes);
  header.type = static_cast<MessageType>(type);
  return header;
}

Result<Message> decode_body(const Header& header, ByteSpan body) {
  if (body.size() != header.body_bytes ||
      checksum(header.type, header.sequence, body, {}) != header.checksum)
    return fail(ErrorKind::peer,
                "frame {} from the peer is damaged (its checksum is wrong); restart both sites, "
                "and look at the network if it happens again",
                header.sequence);
  return parse_body(header.type, body);
}

}  // namespace hairpin::wire
