#include "hairpin/wire/reassembler.h"

#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::wire {
namespace {

tl::unexpected<Error> disorder(const FragmentHeader& header, std::string_view what) {
  return fail(ErrorKind::peer,
              "the peer sent bytes {} to {} of {} frame {} {}; install the same release of Hairpin "
              "on both sites",
              header.offset, header.offset + header.bytes,
              header.lane == Lane::control ? "control" : "bulk", header.frame, what);
}

bool same_frame(const FragmentHeader& a, const FragmentHeader& b) {
  return a.frame_bytes == b.frame_bytes && a.controls == b.controls;
}

}  // namespace

bool Reassembler::admits(const FragmentHeader& header, std::uint64_t max_frame_bytes) const {
  if (header.lane == Lane::control || header.frame <= next_bulk_) return true;
  if (bulk_.contains(header.frame)) return true;
  return bulk_.size() < kMaxOpenFrames &&
         held_bytes_ + header.frame_bytes <= kMaxHeldFrames * max_frame_bytes;
}

Result<std::span<std::byte>> Reassembler::place(int connection, const FragmentHeader& header,
                                                Moment now) {
  auto& from = connections_.at(static_cast<std::size_t>(connection));
  HAIRPIN_CHECK(!from.filling, "two fragments at once on connection {}", connection);
  HAIRPIN_TRY(auto* const partial, partial_of(connection, header, now));
  HAIRPIN_CHECK_OK(take(from, *partial, header));
  from.filling = header;
  return std::span(partial->bytes.get() + header.offset, header.bytes);
}

Result<Reassembler::Partial*> Reassembler::partial_of(int connection, const FragmentHeader& header,
                                                      Moment now) {
  if (header.lane == Lane::control) {
    if (connection != 0) return disorder(header, "on another than the first connection");
    if (header.frame != next_control_)
      return disorder(header, fmt::format("where control frame {} was due", next_control_));
    if (!control_) control_ = open(header, now);
    return &*control_;
  }
  if (header.frame < next_bulk_) return disorder(header, "a second time");
  const auto found = bulk_.find(header.frame);
  if (found != bulk_.end()) return &found->second;
  return &bulk_.emplace(header.frame, open(header, now)).first->second;
}

Reassembler::Partial Reassembler::open(const FragmentHeader& header, Moment now) {
  Partial partial;
  partial.first = header;
  partial.bytes = std::make_unique_for_overwrite<std::byte[]>(header.frame_bytes);
  partial.arrival = {
      .frame_bytes = header.frame_bytes, .began = now, .ended = now, .measured_from = now};
  if (header.lane == Lane::bulk)
    partial.taken.resize((header.frame_bytes + kFragmentUnit - 1) / kFragmentUnit);
  held_bytes_ += header.frame_bytes;
  return partial;
}

Result<void> Reassembler::take(Connection& connection, Partial& partial,
                               const FragmentHeader& header) {
  if (!same_frame(partial.first, header)) return disorder(header, "with another size than before");
  if (header.lane == Lane::control) {
    if (header.offset != partial.filled) return disorder(header, "out of order");
    return {};
  }
  if (header.frame < connection.last_frame ||
      (header.frame == connection.last_frame && header.offset < connection.next_offset))
    return disorder(header, "out of order");
  connection.last_frame = header.frame;
  connection.next_offset = header.offset + header.bytes;
  for (auto unit = header.offset / kFragmentUnit; unit * kFragmentUnit < connection.next_offset;
       ++unit) {
    if (partial.taken[unit]) return disorder(header, "a second time");
    partial.taken[unit] = true;
  }
  return {};
}

Reassembler::Partial* Reassembler::find(const FragmentHeader& header) {
  return header.lane == Lane::control ? &*control_ : &bulk_.at(header.frame);
}

void Reassembler::came(int connection, std::uint64_t bytes, Moment now) {
  total_bytes_ += bytes;
  auto& partial = *find(*connections_.at(static_cast<std::size_t>(connection)).filling);
  if (partial.measuring) return;
  partial.measuring = true;
  partial.arrival.measured_from = now;
  partial.bytes_before = total_bytes_;
}

Result<std::vector<Arrived>> Reassembler::filled(int connection, Moment now) {
  auto& from = connections_.at(static_cast<std::size_t>(connection));
  const auto header = *std::exchange(from.filling, std::nullopt);
  auto& partial = *find(header);
  partial.filled += header.bytes;
  partial.arrival.ended = now;
  if (partial.measuring) partial.arrival.bytes_after = total_bytes_ - partial.bytes_before;

  std::vector<Arrived> due;
  if (control_ && control_->filled == control_->first.frame_bytes) {
    HAIRPIN_TRY(auto arrived, finish(*std::exchange(control_, std::nullopt)));
    ++next_control_;
    due.push_back(std::move(arrived));
  }
  for (auto next = bulk_.begin(); next != bulk_.end() && next->first == next_bulk_;
       next = bulk_.begin()) {
    const auto& first = next->second.first;
    if (next->second.filled != first.frame_bytes || first.controls > next_control_) break;
    auto whole = std::move(next->second);
    bulk_.erase(next);
    HAIRPIN_TRY(auto arrived, finish(std::move(whole)));
    ++next_bulk_;
    due.push_back(std::move(arrived));
  }
  return due;
}

Result<Arrived> Reassembler::finish(Partial partial) {
  const auto& first = partial.first;
  held_bytes_ -= first.frame_bytes;
  const ByteSpan frame(partial.bytes.get(), first.frame_bytes);
  HAIRPIN_TRY(const auto header, decode_header(frame, first.frame_bytes));
  if (header.sequence != first.frame || lane_of(header.type) != first.lane)
    return disorder(first, "with another frame's header inside");
  HAIRPIN_TRY(auto message, decode_body(header, frame.subspan(kHeaderBytes)));
  return Arrived{std::move(message), partial.arrival};
}

}  // namespace hairpin::wire
