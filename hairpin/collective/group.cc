#include "hairpin/collective/group.h"

#include <exception>
#include <utility>

#include "hairpin/collective/operation.h"

namespace hairpin::collective {
namespace {

template <class T>
constexpr Element kElement = sizeof(T) == 4 ? Element::f32 : Element::f64;

template <class T>
std::int64_t length(std::span<T> data) {
  return static_cast<std::int64_t>(data.size());
}

std::vector<std::int64_t> copied(Counts counts) { return {counts.begin(), counts.end()}; }

template <class T>
Operation all_reduce_of(std::span<T> data, Reduction reduction) {
  return {.kind = Kind::all_reduce,
          .element = kElement<T>,
          .reduction = reduction,
          .out = data.data(),
          .out_size = length(data)};
}

Operation reduce_scatter_of(std::span<float> whole, std::span<float> own, Counts counts) {
  return {.kind = Kind::reduce_scatter,
          .in = whole.data(),
          .in_size = length(whole),
          .out = own.data(),
          .out_size = length(own),
          .in_counts = copied(counts)};
}

template <class T>
Operation all_gather_of(std::span<const T> own, std::span<T> whole, Counts counts) {
  return {.kind = Kind::all_gather,
          .element = kElement<T>,
          .in = own.data(),
          .in_size = length(own),
          .out = whole.data(),
          .out_size = length(whole),
          .out_counts = copied(counts)};
}

Operation broadcast_of(std::span<float> data, int root) {
  return {.kind = Kind::broadcast, .root = root, .out = data.data(), .out_size = length(data)};
}

// A handle that is let go. While its rank is failing, the others may never come: it gives up.
void settle(std::shared_ptr<Work::State> state) noexcept {
  if (!state) return;
  if (std::uncaught_exceptions() > 0 && !state->done()) state->abandon();
  try {
    state->wait();
  } catch (...) {  // the rank hears of it in its next call
  }
}

}  // namespace

Work::Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

Work& Work::operator=(Work&& other) {
  if (this != &other) settle(std::exchange(state_, std::move(other.state_)));
  return *this;
}

Work::~Work() { settle(std::move(state_)); }

void Work::wait() {
  if (const auto state = std::exchange(state_, nullptr)) state->wait();
}

bool Work::done() const { return !state_ || state_->done(); }

void Group::all_reduce(std::span<float> data, Reduction reduction) {
  run(all_reduce_of(data, reduction));
}
void Group::all_reduce(std::span<double> data, Reduction reduction) {
  run(all_reduce_of(data, reduction));
}
Work Group::all_reduce_async(std::span<float> data, Reduction reduction) {
  return Work(start(all_reduce_of(data, reduction)));
}

void Group::reduce_scatter(std::span<float> whole, std::span<float> own, Counts counts) {
  run(reduce_scatter_of(whole, own, counts));
}
Work Group::reduce_scatter_async(std::span<float> whole, std::span<float> own, Counts counts) {
  return Work(start(reduce_scatter_of(whole, own, counts)));
}

void Group::all_gather(std::span<const float> own, std::span<float> whole, Counts counts) {
  run(all_gather_of(own, whole, counts));
}
void Group::all_gather(std::span<const double> own, std::span<double> whole, Counts counts) {
  run(all_gather_of(own, whole, counts));
}
Work Group::all_gather_async(std::span<const float> own, std::span<float> whole, Counts counts) {
  return Work(start(all_gather_of(own, whole, counts)));
}

void Group::broadcast(std::span<float> data, int root) { run(broadcast_of(data, root)); }
Work Group::broadcast_async(std::span<float> data, int root) {
  return Work(start(broadcast_of(data, root)));
}

void Group::scatter(std::span<const float> whole, std::span<float> own, Counts counts, int root) {
  run({.kind = Kind::scatter,
       .root = root,
       .in = whole.data(),
       .in_size = length(whole),
       .out = own.data(),
       .out_size = length(own),
       .in_counts = copied(counts)});
}

void Group::all_to_all(std::span<const float> in, Counts in_counts, std::span<float> out,
                       Counts out_counts) {
  run({.kind = Kind::all_to_all,
       .in = in.data(),
       .in_size = length(in),
       .out = out.data(),
       .out_size = length(out),
       .in_counts = copied(in_counts),
       .out_counts = copied(out_counts)});
}

void Group::send(std::span<const float> data, int to) {
  run({.kind = Kind::send, .root = to, .in = data.data(), .in_size = length(data)});
}

void Group::receive(std::span<float> data, int from) {
  run({.kind = Kind::receive, .root = from, .out = data.data(), .out_size = length(data)});
}

void Group::barrier() { run({.kind = Kind::barrier}); }

}  // namespace hairpin::collective
