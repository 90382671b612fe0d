// Any fragments, on any connections, to the reassembler: it refuses, waits or gives out messages;
// it holds no more memory than it says and touches only what it was given.
//
// The input is a list of fragments: a byte that says how the next one is made, then its parts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "hairpin/wire/reassembler.h"

namespace {

using namespace hairpin;

constexpr std::uint64_t kMax = std::uint64_t{1} << 17;

void require(bool condition) {
  if (!condition) std::abort();
}

// A frame that is right, so that the fuzzer need not find checksums.
Bytes frame_of(wire::Lane lane, std::uint64_t sequence, std::uint16_t size) {
  if (lane == wire::Lane::control) return wire::encode(wire::Heartbeat{.sequence = size}, sequence);
  return wire::encode(wire::WeightsChunk{.entry = size, .payload = Bytes(size)}, sequence);
}

struct Feeder {
  ByteReader in;
  wire::Reassembler reassembler;

  // False: the peer would have been refused.
  bool feed() {
    const auto how = in.number<std::uint8_t>();
    const int connection = how & 3;
    return (how & 4) != 0 ? feed_raw(connection) : feed_right(connection, how);
  }

  // A fragment of a frame that is right, at any place, of any number.
  bool feed_right(int connection, std::uint8_t how) {
    const auto lane = (how & 8) != 0 ? wire::Lane::bulk : wire::Lane::control;
    const auto number = in.number<std::uint8_t>();
    const auto frame = frame_of(lane, number, in.number<std::uint16_t>());
    const std::uint64_t offset = in.number<std::uint8_t>() % 8U * wire::kFragmentUnit;
    const auto left = frame.size() - std::min<std::uint64_t>(offset, frame.size());
    const auto bytes = (how & 16) != 0 ? std::min(left, wire::kFragmentUnit) : left;
    Bytes header;
    wire::encode(wire::FragmentHeader{.lane = lane,
                                      .frame = number,
                                      .controls = static_cast<std::uint64_t>(how >> 5),
                                      .frame_bytes = frame.size(),
                                      .offset = offset,
                                      .bytes = static_cast<std::uint32_t>(bytes)},
                 header);
    return feed_bytes(connection, header, ByteSpan(frame).subspan(frame.size() - left, bytes));
  }

  bool feed_raw(int connection) {
    const auto header = in.raw(wire::kFragmentHeaderBytes);
    return in.ok() && feed_bytes(connection, header, {});
  }

  // The fragment's bytes are `bytes`, and zeros where it wants more.
  bool feed_bytes(int connection, ByteSpan head, ByteSpan bytes) {
    const auto header = wire::decode_fragment_header(head, kMax);
    if (!header) return false;
    if (!reassembler.admits(*header, kMax)) return true;
    const auto place = reassembler.place(connection, *header, {});
    if (!place) return false;
    std::ranges::fill(*place, std::byte{0});
    std::copy_n(bytes.begin(), std::min(bytes.size(), place->size()), place->begin());
    reassembler.came(connection, place->size(), {});
    const bool right = reassembler.filled(connection, {}).has_value();
    // One frame that is due and one of control come whatever is held.
    require(reassembler.held_bytes() <= (wire::Reassembler::kMaxHeldFrames + 2) * kMax);
    require(reassembler.open_frames() <= wire::Reassembler::kMaxOpenFrames + 2);
    return right;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Feeder feeder{ByteReader({reinterpret_cast<const std::byte*>(data), size}), {}};
  while (feeder.in.ok() && !feeder.in.at_end())
    if (!feeder.feed()) break;
  return 0;
}
