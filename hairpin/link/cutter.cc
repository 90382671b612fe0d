#include "hairpin/link/cutter.h"

#include <algorithm>
#include <utility>

#include "hairpin/link/outgoing.h"

namespace hairpin::link {

using wire::Lane;

struct Cutter::Frame {
  explicit Frame(Endpoint::Outgoing taken) : outgoing(std::move(taken)) {}

  Endpoint::Outgoing outgoing;
  wire::FrameParts parts;     // views outgoing's payload
  wire::FragmentHeader next;  // the fragment to cut, but for its size
  Moment first_byte{};
  std::uint64_t handed_over = 0;
  bool given_up = false;
};

namespace {

// Bytes [offset, offset + size) of head and payload together.
void append(const wire::FrameParts& parts, std::uint64_t offset, std::uint64_t size, Bytes& out) {
  const auto add = [&](ByteSpan piece) {
    const auto skipped = std::min<std::uint64_t>(offset, piece.size());
    const auto taken = std::min<std::uint64_t>(size, piece.size() - skipped);
    const auto part = piece.subspan(skipped, taken);
    out.insert(out.end(), part.begin(), part.end());
    offset -= skipped;
    size -= taken;
  };
  add(parts.head);
  add(parts.payload);
}

}  // namespace

Cutter::Cutter(Endpoint& endpoint, SentObserver observer)
    : endpoint_(endpoint), observer_(std::move(observer)) {}

std::optional<Cutter::Cut> Cutter::next(Lanes lanes, Bytes& out) {
  std::optional<Cut> cut;
  if (lanes.control) cut = next_of(Lane::control, out);
  if (!cut && lanes.bulk) cut = next_of(Lane::bulk, out);
  if (cut) ++under_way_;
  return cut;
}

std::optional<Cutter::Cut> Cutter::next_of(Lane lane, Bytes& out) {
  auto& current = current_.at(static_cast<std::size_t>(lane));
  if (!current) current = take_frame(lane);
  if (!current) return std::nullopt;
  auto frame = current;
  auto& header = frame->next;
  header.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kFragmentBytes, header.frame_bytes - header.offset));
  if (header.offset == 0) frame->first_byte = endpoint_.now();
  out.clear();
  wire::encode(header, out);
  append(frame->parts, header.offset, header.bytes, out);
  header.offset += header.bytes;
  if (header.offset == header.frame_bytes) current = nullptr;
  return Cut{std::move(frame), header.bytes};
}

std::shared_ptr<Cutter::Frame> Cutter::take_frame(Lane lane) {
  while (!last_word_taken_) {
    auto outgoing = endpoint_.next_to_send(lane);
    if (!outgoing) return nullptr;
    const auto frame = std::make_shared<Frame>(std::move(*outgoing));
    auto& sequence = sequences_.at(static_cast<std::size_t>(lane));
    auto parts = frame_to_send(endpoint_, frame->outgoing, sequence, observer_);
    if (!parts) continue;
    frame->parts = std::move(*parts);
    frame->next = {.lane = lane, .frame = sequence++, .frame_bytes = frame->parts.size()};
    if (lane == Lane::bulk) frame->next.controls = frame->outgoing.controls;
    last_word_taken_ = is_last_word(frame->outgoing.message);
    refusing_ = std::holds_alternative<wire::Refusal>(frame->outgoing.message);
    if (refusing_) give_up_bulk();
    return frame;
  }
  return nullptr;
}

void Cutter::give_up_bulk() {
  auto& bulk = current_.at(static_cast<std::size_t>(Lane::bulk));
  if (!bulk) return;
  bulk->given_up = true;
  endpoint_.not_written(bulk->outgoing);
  bulk = nullptr;
}

void Cutter::done(const Cut& cut) {
  --under_way_;
  auto& frame = *cut.frame;
  frame.handed_over += cut.bytes;
  if (frame.given_up || frame.handed_over < frame.next.frame_bytes) return;
  if (is_last_word(frame.outgoing.message)) last_word_done_ = true;
  endpoint_.written(frame.outgoing, frame.parts.size(), frame.first_byte);
}

}  // namespace hairpin::link
