#include "hairpin/wire/fragment.h"

#include "hairpin/wire/magic.h"

namespace hairpin::wire {
namespace {

bool well_cut(const FragmentHeader& h) {
  if (h.frame_bytes < kHeaderBytes || h.bytes == 0 || h.bytes > kMaxFragmentBytes) return false;
  if (h.offset >= h.frame_bytes || h.bytes > h.frame_bytes - h.offset) return false;
  const bool last = h.offset + h.bytes == h.frame_bytes;
  return h.offset % kFragmentUnit == 0 && (last || h.bytes % kFragmentUnit == 0);
}

}  // namespace

void encode(const FragmentHeader& header, Bytes& bytes) {
  ByteWriter out(bytes);
  write_magic(out);
  out.number(static_cast<std::uint8_t>(header.lane));
  out.number(std::uint8_t{0});
  out.number(header.frame);
  out.number(header.controls);
  out.number(header.frame_bytes);
  out.number(header.offset);
  out.number(header.bytes);
}

Result<FragmentHeader> decode_fragment_header(ByteSpan bytes, std::uint64_t max_frame_bytes) {
  ByteReader in(bytes);
  HAIRPIN_CHECK_OK(read_magic(in));
  FragmentHeader header;
  const auto lane = in.number<std::uint8_t>();
  const auto flags = in.number<std::uint8_t>();
  header.lane = static_cast<Lane>(lane);
  header.frame = in.number<std::uint64_t>();
  header.controls = in.number<std::uint64_t>();
  header.frame_bytes = in.number<std::uint64_t>();
  header.offset = in.number<std::uint64_t>();
  header.bytes = in.number<std::uint32_t>();
  if (!in.ok()) return fail(ErrorKind::peer, "the peer sent a fragment's header cut short");
  if (lane > 1 || flags != 0)
    return fail(ErrorKind::peer,
                "the peer sent a fragment of lane {} with flags {}, which protocol version {} does "
                "not have; install the same release of Hairpin on both sites",
                lane, flags, kProtocolVersion);
  if (header.frame_bytes > max_frame_bytes)
    return fail(ErrorKind::peer,
                "the peer sent a frame of {} bytes where a frame of at most {} bytes is allowed; "
                "compare the two sites' jobs",
                header.frame_bytes, max_frame_bytes);
  if (!well_cut(header))
    return fail(ErrorKind::peer,
                "the peer cut a frame of {} bytes so that a fragment has {} bytes from byte {}, "
                "which cannot be; install the same release of Hairpin on both sites",
                header.frame_bytes, header.bytes, header.offset);
  return header;
}

}  // namespace hairpin::wire
