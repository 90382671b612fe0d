// Any bytes as a frame: refused, or decoded to a message that encodes to the same bytes again.
//
// A checksum would keep the fuzzer out of the bodies, so the input is also taken as the body of a
// frame whose header is right.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "hairpin/wire/body.h"
#include "hairpin/wire/frame.h"

namespace {

using namespace hairpin;

void require(bool condition) {
  if (!condition) std::abort();
}

void as_frame(ByteSpan data) {
  const auto header = wire::decode_header(data, std::uint64_t{1} << 20);
  if (!header) return;
  const auto message = wire::decode_body(*header, data.subspan(wire::kHeaderBytes));
  if (message) require(std::ranges::equal(wire::encode(*message, header->sequence), data));
}

void as_body(ByteSpan data) {
  if (data.empty()) return;
  const auto type = static_cast<wire::MessageType>(std::to_integer<int>(data[0]) % 11 + 1);
  const auto body = data.subspan(1);
  const auto message = wire::parse_body(type, body);
  if (!message) return;
  const auto frame = wire::encode(*message, 0);
  require(std::ranges::equal(ByteSpan(frame).subspan(wire::kHeaderBytes), body));
  as_frame(frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  as_frame(bytes);
  as_body(bytes);
  return 0;
}
