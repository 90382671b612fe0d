#include "hairpin/wire/magic.h"

#include "hairpin/wire/message.h"

namespace hairpin::wire {
namespace {

constexpr std::string_view kMagic = "HPIN";

}  // namespace

void write_magic(ByteWriter& out) {
  out.raw(as_byte_span(kMagic));
  out.number(kProtocolVersion);
}

Result<void> read_magic(ByteReader& in) {
  const auto magic = in.raw(kMagic.size());
  if (as_text(magic) != kMagic)
    return fail(ErrorKind::peer,
                "the peer does not speak Hairpin's protocol (what it sends does not begin with "
                "HPIN); check link.address on both sites");
  const auto version = in.number<std::uint16_t>();
  if (!in.ok()) return fail(ErrorKind::peer, "the peer sent a frame header cut short");
  if (version != kProtocolVersion)
    return fail(ErrorKind::peer,
                "the peer speaks protocol version {} and this site version {}; install the same "
                "release of Hairpin on both sites",
                version, kProtocolVersion);
  return {};
}

}  // namespace hairpin::wire
