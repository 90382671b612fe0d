#include "hairpin/wire/opening.h"

#include <algorithm>

#include "hairpin/base/check.h"
#include "hairpin/wire/magic.h"

namespace hairpin::wire {
namespace {

bool possible(const Opening& opening) {
  return opening.connections >= 1 && opening.connections <= kMaxConnections &&
         opening.connection < opening.connections;
}

}  // namespace

Bytes encode(const Opening& opening) {
  HAIRPIN_CHECK(possible(opening), "connection {} of {}", opening.connection, opening.connections);
  Bytes bytes;
  bytes.reserve(kOpeningBytes);
  ByteWriter out(bytes);
  write_magic(out);
  out.number(opening.connection);
  out.number(opening.connections);
  out.raw(opening.session);
  return bytes;
}

Result<Opening> decode_opening(ByteSpan bytes) {
  ByteReader in(bytes);
  HAIRPIN_CHECK_OK(read_magic(in));
  Opening opening;
  opening.connection = in.number<std::uint8_t>();
  opening.connections = in.number<std::uint8_t>();
  const auto session = in.raw(opening.session.size());
  if (!in.ok() || !in.at_end())
    return fail(ErrorKind::peer, "the peer's opening has {} bytes where {} were due", bytes.size(),
                kOpeningBytes);
  std::ranges::copy(session, opening.session.begin());
  if (!possible(opening))
    return fail(ErrorKind::peer,
                "the peer opened connection {} of {}, which cannot be; install the same release of "
                "Hairpin on both sites",
                opening.connection, opening.connections);
  return opening;
}

}  // namespace hairpin::wire
