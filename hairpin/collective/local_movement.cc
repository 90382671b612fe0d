#include "hairpin/collective/local_movement.h"

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "hairpin/collective/reduce_kernels.h"
#include "hairpin/mesh/share.h"

namespace hairpin::collective {
namespace {

using mesh::Range;

Range piece(const std::vector<std::int64_t>& counts, int rank) {
  const auto begin = counts.begin();
  return {std::accumulate(begin, begin + rank, std::int64_t{0}),
          counts[static_cast<std::size_t>(rank)]};
}

// One rank's part of an operation. Made before the ranks meet: from there on nothing may throw.
class Part {
 public:
  Part(Meeting& meeting, int rank)
      : meeting_(meeting), calls_(meeting.calls()), rank_(rank), size_(meeting.size()) {
    sources_.resize(calls_.size());
  }

  void all_reduce() {
    for (int r = 0; r < size_; ++r) source(r) = call(r).out;
    reduce(share(rank_), share(rank_).begin);
    meeting_.together();
    for (int r = 0; r < size_; ++r)
      if (r != rank_) copy(r, call(r).out, share(r).begin, share(r).begin, share(r).count);
  }

  void reduce_scatter() {
    for (int r = 0; r < size_; ++r) source(r) = call(r).in;
    reduce(piece(self().in_counts, rank_), 0);
  }

  void all_gather() {
    for (int r = 0; r < size_; ++r) {
      const auto to = piece(self().out_counts, r);
      copy(r, call(r).in, 0, to.begin, to.count);
    }
  }

  void broadcast() { copy(self().root, call(self().root).out, 0, 0, self().out_size); }

  void scatter() {
    const auto from = piece(self().in_counts, rank_);
    copy(self().root, call(self().root).in, from.begin, 0, from.count);
  }

  void all_to_all() {
    for (int r = 0; r < size_; ++r) {
      const auto from = piece(call(r).in_counts, rank_);
      copy(r, call(r).in, from.begin, piece(self().out_counts, r).begin, from.count);
    }
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  const Operation& call(int rank) const { return *calls_[static_cast<std::size_t>(rank)]; }
  const Operation& self() const { return call(rank_); }
  Range share(int rank) const { return mesh::share(self().out_size, size_, rank); }

  // `count` elements of rank `from`'s buffer to this rank's `out`.
  void copy(int from, const void* source, std::int64_t source_begin, std::int64_t out_begin,
            std::int64_t count) {
    const auto element = element_bytes(self().element);
    const auto bytes = static_cast<std::size_t>(count * element);
    const auto* begin = static_cast<const std::byte*>(source) + source_begin * element;
    auto* out = static_cast<std::byte*>(self().out) + out_begin * element;
    if (bytes == 0 || begin == out) return;  // in place: nothing to write while others read it
    std::memcpy(out, begin, bytes);
    if (from != rank_) bytes_ += bytes;
  }

  const void*& source(int rank) { return sources_[static_cast<std::size_t>(rank)]; }

  // `range` of all sources to this rank's `out`.
  void reduce(Range range, std::int64_t out_begin) {
    self().element == Element::f32 ? reduce_as<float>(range, out_begin)
                                   : reduce_as<double>(range, out_begin);
  }

  template <class T>
  void reduce_as(Range range, std::int64_t out_begin) {
    if (range.count == 0) return;
    for (auto& each : sources_) each = static_cast<const T*>(each) + range.begin;
    reduce_in_order(static_cast<T*>(self().out) + out_begin, sources_, range.count,
                    self().reduction);
    bytes_ += static_cast<std::uint64_t>(range.count * (size_ - 1)) * sizeof(T);
  }

  Meeting& meeting_;
  const std::span<const Operation* const> calls_;
  const int rank_, size_;
  std::vector<const void*> sources_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t move(Meeting& meeting, int rank, const Operation& call) {
  Part part(meeting, rank);
  meeting.meet(rank, call);
  switch (call.kind) {
    case Kind::all_reduce: part.all_reduce(); break;
    case Kind::reduce_scatter: part.reduce_scatter(); break;
    case Kind::all_gather: part.all_gather(); break;
    case Kind::broadcast: part.broadcast(); break;
    case Kind::scatter: part.scatter(); break;
    case Kind::all_to_all: part.all_to_all(); break;
    default: break;
  }
  meeting.together();  // until all have read this rank's buffers
  return part.bytes();
}

std::uint64_t exchange(Meeting& meeting, int rank, const Operation& call) {
  meeting.meet(rank, call);
  auto [objects, bytes] = meeting.take_objects();
  *call.objects = std::move(objects);
  return bytes - call.object_bytes;
}

}  // namespace

std::uint64_t carry_out(Meeting& meeting, int rank, const Operation& call) {
  check_arguments(call, meeting.name(), rank, meeting.size());
  switch (call.kind) {
    case Kind::send: meeting.send(rank, call); return 0;
    case Kind::receive: return meeting.receive(rank, call);
    case Kind::barrier: meeting.meet(rank, call); return 0;
    case Kind::exchange: return exchange(meeting, rank, call);
    default: return move(meeting, rank, call);
  }
}

}  // namespace hairpin::collective
