#include "hairpin/collective/test_exercise.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>

namespace hairpin::collective {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Element i of a rank's input: of many magnitudes, so that the order of a sum shows in its bits.
template <class T>
T value(const Call& call, int rank, std::int64_t i) {
  const auto bits = mixed(mixed(call.seed * 131 + static_cast<std::uint64_t>(rank)) +
                          static_cast<std::uint64_t>(i));
  const double unit = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
  const int exponent = static_cast<int>(bits & 15) - 8;
  return static_cast<T>((bits & 16 ? -unit : unit) * std::ldexp(1.0, exponent));
}

// Memory with marked ends.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t size) : memory_(static_cast<std::size_t>(size) + 2, kMark) {}
  std::span<T> all() { return std::span(memory_).subspan(1, memory_.size() - 2); }
  std::span<T> piece(std::int64_t begin, std::int64_t count) {
    return all().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  }
  std::string differs(const std::vector<T>& want) const {
    if (memory_.front() != kMark || memory_.back() != kMark) return "written past an end";
    for (std::size_t i = 0; i < want.size(); ++i)
      if (std::memcmp(&memory_[i + 1], &want[i], sizeof(T)) != 0)
        return fmt::format("element {} is {}, not {}", i, memory_[i + 1], want[i]);
    return {};
  }

 private:
  static constexpr T kMark = T(-77.25);
  std::vector<T> memory_;
};

template <class T>
class TypedExercise : public Exercise {
 public:
  TypedExercise(const Call& call, int rank)
      : call_(call),
        rank_(rank),
        size_(static_cast<int>(call.counts.size())),
        total_(std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0})),
        in_(in_size()),
        out_(out_size()) {
    fill(in_.all(), rank);
    prepare_out();
  }

  void run(Group& group) override {
    switch (call_.kind) {
      case Kind::all_reduce: return group.all_reduce(out_.all(), call_.reduction);
      case Kind::all_gather: return group.all_gather(own_in(), out_.all(), call_.counts);
      default: break;
    }
    if constexpr (std::is_same_v<T, float>) run_float(group);
  }

  Work start(Group& group) override {
    if constexpr (std::is_same_v<T, float>) switch (call_.kind) {
        case Kind::all_reduce: return group.all_reduce_async(out_.all(), call_.reduction);
        case Kind::reduce_scatter:
          return group.reduce_scatter_async(in_.all(), own_out(), call_.counts);
        case Kind::all_gather: return group.all_gather_async(own_in(), out_.all(), call_.counts);
        case Kind::broadcast: return group.broadcast_async(out_.all(), call_.root);
        default: break;
      }
    run(group);
    return Work();
  }

  std::string wrong() const override {
    if (const auto out = out_.differs(want_out()); !out.empty()) return "out: " + out;
    if (const auto in = in_.differs(want_in()); !in.empty()) return "in: " + in;
    return wrong_;
  }

  std::uint64_t bytes() const override {
    return static_cast<std::uint64_t>(elements_read()) * sizeof(T);
  }
  std::uint64_t operations() const override { return call_.kind == Kind::send && sends() ? 2 : 1; }

 private:
  std::int64_t count(int rank) const { return call_.counts[static_cast<std::size_t>(rank)]; }
  std::int64_t begin(int rank) const {
    return std::accumulate(call_.counts.begin(), call_.counts.begin() + rank, std::int64_t{0});
  }
  bool is_root() const { return rank_ == call_.root; }
  bool sends() const { return size_ > 1 && call_.root % size_ != 0; }
  int sender() const { return (rank_ + size_ - call_.root) % size_; }

  std::int64_t in_size() const {
    switch (call_.kind) {
      case Kind::reduce_scatter: return total_;
      case Kind::all_gather: return call_.in_place ? 0 : count(rank_);
      case Kind::scatter: return is_root() ? total_ : 0;
      case Kind::all_to_all: {
        std::int64_t sum = 0;
        for (int r = 0; r < size_; ++r) sum += given(call_, rank_, r);
        return sum;
      }
      case Kind::send:
      case Kind::exchange: return count(rank_);
      default: return 0;
    }
  }
  std::int64_t out_size() const {
    switch (call_.kind) {
      case Kind::all_reduce:
      case Kind::all_gather:
      case Kind::broadcast: return total_;
      case Kind::reduce_scatter: return call_.in_place ? 0 : count(rank_);
      case Kind::scatter: return call_.in_place && is_root() ? 0 : count(rank_);
      case Kind::all_to_all: return static_cast<std::int64_t>(want_all_to_all().size());
      case Kind::send: return sends() ? count(sender()) : 0;
      default: return 0;
    }
  }

  void fill(std::span<T> data, int rank, std::int64_t first = 0) {
    for (auto& x : data) x = value<T>(call_, rank, first++);
  }
  void prepare_out() {
    if (call_.kind == Kind::all_reduce || (call_.kind == Kind::broadcast && is_root()))
      fill(out_.all(), rank_);
    if (call_.kind == Kind::all_gather && call_.in_place)
      fill(out_.piece(begin(rank_), count(rank_)), rank_);
  }
  std::span<const T> own_in() {
    return call_.in_place ? out_.piece(begin(rank_), count(rank_)) : in_.all();
  }
  std::span<T> own_out() {
    const bool inside = call_.in_place && (call_.kind == Kind::reduce_scatter || is_root());
    return inside ? in_.piece(begin(rank_), count(rank_)) : out_.all();
  }

  void run_float(Group& group)
    requires std::is_same_v<T, float>
  {
    switch (call_.kind) {
      case Kind::reduce_scatter: return group.reduce_scatter(in_.all(), own_out(), call_.counts);
      case Kind::broadcast: return group.broadcast(out_.all(), call_.root);
      case Kind::scatter: return group.scatter(in_.all(), own_out(), call_.counts, call_.root);
      case Kind::all_to_all: return all_to_all(group);
      case Kind::send:
        if (!sends()) return group.barrier();
        group.send(in_.all(), (rank_ + call_.root) % size_);
        return group.receive(out_.all(), sender());
      case Kind::exchange: return exchange(group);
      default: return group.barrier();
    }
  }
  void all_to_all(Group& group)
    requires std::is_same_v<T, float>
  {
    std::vector<std::int64_t> gives, takes;
    for (int r = 0; r < size_; ++r) {
      gives.push_back(given(call_, rank_, r));
      takes.push_back(given(call_, r, rank_));
    }
    group.all_to_all(in_.all(), gives, out_.all(), takes);
  }
  // Each third rank gives a null pointer.
  void exchange(Group& group) {
    std::shared_ptr<std::vector<T>> own;
    if (rank_ % 3 != 2) own = std::make_shared<std::vector<T>>(in_.all().begin(), in_.all().end());
    const auto objects = group.exchange(own, static_cast<std::uint64_t>(count(rank_)) * sizeof(T));
    if (objects.size() != static_cast<std::size_t>(size_)) wrong_ = "not one object a rank";
    for (int r = 0; r < size_ && wrong_.empty(); ++r) {
      const auto* got =
          static_cast<const std::vector<T>*>(objects[static_cast<std::size_t>(r)].get());
      const bool right =
          r % 3 == 2 ? got == nullptr : got != nullptr && *got == values(r, count(r));
      if (!right) wrong_ = fmt::format("not rank {}'s object", r);
    }
  }

  std::vector<T> values(int rank, std::int64_t count, std::int64_t first = 0) const {
    std::vector<T> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(value<T>(call_, rank, first + i));
    return all;
  }
  std::vector<T> reduced(std::int64_t first, std::int64_t count) const {
    auto all = values(0, count, first);
    for (int r = 1; r < size_; ++r)
      for (std::int64_t i = 0; i < count; ++i) {
        auto& x = all[static_cast<std::size_t>(i)];
        const auto y = value<T>(call_, r, first + i);
        x = call_.reduction == Reduction::sum ? x + y : std::max(x, y);
      }
    return all;
  }
  std::vector<T> want_all_to_all() const {
    std::vector<T> all;
    for (int from = 0; from < size_; ++from) {
      std::int64_t first = 0;
      for (int to = 0; to < rank_; ++to) first += given(call_, from, to);
      const auto piece = values(from, given(call_, from, rank_), first);
      all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
  }
  std::vector<T> want_out() const {
    switch (call_.kind) {
      case Kind::all_reduce: return reduced(0, total_);
      case Kind::reduce_scatter:
        return call_.in_place ? std::vector<T>() : reduced(begin(rank_), count(rank_));
      case Kind::broadcast: return values(call_.root, total_);
      case Kind::scatter:
        if (call_.in_place && is_root()) return {};
        return values(call_.root, count(rank_), begin(rank_));
      case Kind::all_to_all: return want_all_to_all();
      case Kind::send: return sends() ? values(sender(), count(sender())) : std::vector<T>();
      case Kind::all_gather: break;
      default: return {};
    }
    std::vector<T> all;
    for (int r = 0; r < size_; ++r) {
      const auto piece = values(r, count(r));
      all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
  }
  // Inputs keep their values, but for the piece reduced in place.
  std::vector<T> want_in() const {
    auto all = values(rank_, in_size());
    if (call_.kind == Kind::reduce_scatter && call_.in_place)
      std::ranges::copy(reduced(begin(rank_), count(rank_)), all.begin() + begin(rank_));
    return all;
  }

  std::int64_t elements_read() const {
    const auto others = static_cast<std::int64_t>(size_ - 1);
    switch (call_.kind) {
      case Kind::all_reduce: {
        const auto share = total_ / size_ + (rank_ < total_ % size_ ? 1 : 0);
        return others * share + total_ - share;
      }
      case Kind::reduce_scatter: return others * count(rank_);
      case Kind::all_gather:
      case Kind::exchange: return total_ - count(rank_);
      case Kind::broadcast: return is_root() ? 0 : total_;
      case Kind::scatter: return is_root() ? 0 : count(rank_);
      case Kind::all_to_all: {
        std::int64_t sum = 0;
        for (int r = 0; r < size_; ++r) sum += r == rank_ ? 0 : given(call_, r, rank_);
        return sum;
      }
      case Kind::send: return sends() ? count(sender()) : 0;
      default: return 0;
    }
  }

  const Call call_;
  const int rank_, size_;
  const std::int64_t total_;
  Buffer<T> in_, out_;
  std::string wrong_;
};

std::vector<std::vector<std::int64_t>> sample_counts(int size) {
  std::vector<std::int64_t> even, uneven, holed, last, large;
  for (int r = 0; r < size; ++r) {
    even.push_back(8);
    uneven.push_back(7 * r % 5 + 1);
    holed.push_back(r % 2 == 0 ? 0 : 3 + r);
    last.push_back(r + 1 == size ? 13 : 0);
    large.push_back(2051 + r);
  }
  const std::vector<std::int64_t> none(static_cast<std::size_t>(size), 0);
  return {even, uneven, holed, last, large, none};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << fmt::format("{}{}{} of [{}] {}, root {}", call.in_place ? "in-place " : "",
                            kind_name(call.kind), call.reduction == Reduction::max ? " (max)" : "",
                            fmt::join(call.counts, ", "),
                            call.element == Element::f32 ? "floats" : "doubles", call.root);
}

std::int64_t given(const Call& call, int from, int to) {
  return call.counts[static_cast<std::size_t>(from)] * (to + 1) / (from % 2 + 1);
}

std::unique_ptr<Exercise> Exercise::make(const Call& call, int rank) {
  if (call.element == Element::f64) return std::make_unique<TypedExercise<double>>(call, rank);
  return std::make_unique<TypedExercise<float>>(call, rank);
}

std::vector<Call> sample_calls(int size) {
  std::vector<Call> calls;
  const auto add = [&](Call call) {
    call.seed = calls.size() + 1;
    calls.push_back(std::move(call));
  };
  for (const auto& counts : sample_counts(size)) {
    for (const auto element : {Element::f32, Element::f64}) {
      for (const auto reduction : {Reduction::sum, Reduction::max})
        add({.kind = Kind::all_reduce,
             .element = element,
             .reduction = reduction,
             .counts = counts});
      for (const bool in_place : {false, true})
        add({.kind = Kind::all_gather, .element = element, .in_place = in_place, .counts = counts});
    }
    for (const bool in_place : {false, true})
      add({.kind = Kind::reduce_scatter, .in_place = in_place, .counts = counts});
    for (int root = 0; root < size; ++root) {
      for (const auto kind : {Kind::broadcast, Kind::send})
        add({.kind = kind, .root = root, .counts = counts});
      for (const bool in_place : {false, true})
        add({.kind = Kind::scatter, .root = root, .in_place = in_place, .counts = counts});
    }
    for (const auto kind : {Kind::all_to_all, Kind::exchange, Kind::barrier})
      add({.kind = kind, .counts = counts});
  }
  return calls;
}

}  // namespace hairpin::collective
