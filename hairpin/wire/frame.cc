#include "hairpin/wire/frame.h"

#include <algorithm>

#include "hairpin/wire/body.h"

namespace hairpin::wire {
namespace {

constexpr std::array<std::byte, 4> kMagic{std::byte{'H'}, std::byte{'P'}, std::byte{'I'},
                                          std::byte{'N'}};

Bytes header_start(MessageType type, std::uint64_t body_bytes, std::uint64_t sequence) {
  Bytes bytes;
  bytes.reserve(kHeaderBytes);
  ByteWriter out(bytes);
  out.raw(kMagic);
  out.number(kProtocolVersion);
  out.number(static_cast<std::uint8_t>(type));
  out.number(std::uint8_t{0});  // flags
  out.number(body_bytes);
  out.number(sequence);
  return bytes;
}

// XXH3-64 of the header's first 24 bytes followed by XXH3-64 of the body: both are covered, and
// neither has to be copied behind the other.
std::uint64_t checksum(MessageType type, std::uint64_t sequence, ByteSpan body) {
  auto bytes = header_start(type, body.size(), sequence);
  ByteWriter(bytes).number(xxh3(body));
  return xxh3(bytes);
}

std::size_t payload_bytes(const Message& message) {
  if (const auto* tensor = std::get_if<TensorMessage>(&message)) return tensor->payload.size();
  if (const auto* chunk = std::get_if<WeightsChunk>(&message)) return chunk->payload.size();
  return 0;
}

bool known(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(MessageType::hello) &&
         type <= static_cast<std::uint8_t>(MessageType::refusal);
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
  };
  return std::visit(Type{}, message);
}

Bytes encode(const Message& message, std::uint64_t sequence) {
  Bytes frame;
  frame.reserve(kHeaderBytes + 64 + payload_bytes(message));
  frame.resize(kHeaderBytes);
  encode_body(message, frame);
  const auto body = ByteSpan(frame).subspan(kHeaderBytes);
  const auto type = type_of(message);
  auto header = header_start(type, body.size(), sequence);
  ByteWriter(header).number(checksum(type, sequence, body));
  std::copy(header.begin(), header.end(), frame.begin());
  return frame;
}

Result<Header> decode_header(ByteSpan bytes, std::uint64_t max_frame_bytes) {
  ByteReader in(bytes.first(std::min(bytes.size(), kHeaderBytes)));
  const auto magic = in.raw(kMagic.size());
  if (!in.ok() || !std::equal(magic.begin(), magic.end(), kMagic.begin()))
    return fail(ErrorKind::peer,
                "the peer does not speak Hairpin's protocol (its frame does not begin with HPIN); "
                "check link.address on both sites");
  const auto version = in.number<std::uint16_t>();
  const auto type = in.number<std::uint8_t>();
  const auto flags = in.number<std::uint8_t>();
  Header header{.body_bytes = in.number<std::uint64_t>(), .sequence = in.number<std::uint64_t>()};
  header.checksum = in.number<std::uint64_t>();
  if (!in.ok()) return fail(ErrorKind::peer, "the peer sent a frame header cut short");
  if (version != kProtocolVersion)
    return fail(ErrorKind::peer,
                "the peer speaks protocol version {} and this site version {}; install the same "
                "release of Hairpin on both sites",
                version, kProtocolVersion);
  if (!known(type) || flags != 0)
    return fail(ErrorKind::peer,
                "the peer sent a frame of type {} with flags {}, which protocol version {} does "
                "not have; install the same release of Hairpin on both sites",
                type, flags, version);
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
      checksum(header.type, header.sequence, body) != header.checksum)
    return fail(ErrorKind::peer,
                "frame {} from the peer is damaged (its checksum is wrong); restart both sites, "
                "and look at the network if it happens again",
                header.sequence);
  return parse_body(header.type, body);
}

}  // namespace hairpin::wire
