#include "hairpin/schedule/event_loop.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hairpin::schedule {
namespace {

constexpr std::size_t kWake = std::numeric_limits<std::size_t>::max();

// The op that the gradient of OP's output goes to, or the activations; nothing past the ends.
std::optional<Op> reader_of(const Op& op, const Schedule& layout) {
  const int last = layout.num_stages() - 1;
  Op reader = op;
  if (op.kind == OpKind::backward_weight) return std::nullopt;
  if (op.kind == OpKind::forward && op.stage < last) {
    ++reader.stage;
  } else if (op.kind == OpKind::forward) {
    reader.kind = layout.backward_of(last);
  } else if (op.stage > 0) {
    reader.kind = layout.backward_of(--reader.stage);
  } else {
    return std::nullopt;
  }
  return reader;
}

}  // namespace

EventLoop::EventLoop(const Schedule& layout, const Costs& costs)
    : layout_(layout),
      costs_(costs),
      index_(layout),
      arrival_(index_.size(), std::numeric_limits<double>::infinity()),
      idle_(layout.ranks.size(), true),
      awake_(layout.ranks.size(), true) {
  const int all = layout.microbatches * layout.domains;
  rank_of_.reserve(static_cast<std::size_t>(all) * layout.position_of_stage.size());
  for (int stage = 0; stage < layout.num_stages(); ++stage)
    for (int number = 0; number < all; ++number)
      rank_of_.push_back(layout.rank_of(stage, number % layout.domains, number / layout.domains));
  for (int number = 0; number < all; ++number)
    arrival_[index_.of({OpKind::forward, 0, number / layout.domains, number % layout.domains})] = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) to_wake_.push_back(rank);
}

bool EventLoop::later(const Event& a, const Event& b) {
  return std::tie(a.time, a.rank, a.op) > std::tie(b.time, b.rank, b.op);
}

void EventLoop::push(const Event& event) {
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), later);
}

EventLoop::Event EventLoop::pop() {
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = events_.back();
  events_.pop_back();
  return event;
}

void EventLoop::run(const Choose& choose, const Started& started) {
  for (double now = 0;;) {
    std::sort(to_wake_.begin(), to_wake_.end());
    for (const int rank : to_wake_) {
      const auto r = static_cast<std::size_t>(rank);
      awake_[r] = false;
      if (!idle_[r]) continue;
      const std::optional<Op> op = choose(rank, now);
      if (!op) continue;
      idle_[r] = false;
      const double end = now + costs_.of(*op);
      started(rank, *op, now, end);
      push({end, rank, index_.of(*op)});
    }
    to_wake_.clear();
    if (events_.empty()) return;
    now = events_.front().time;
    while (!events_.empty() && events_.front().time == now) handle(pop());
  }
}

void EventLoop::handle(const Event& event) {
  wake(event.rank);
  if (event.op == kWake) return;
  idle_[static_cast<std::size_t>(event.rank)] = true;
  const Op op = index_.op(event.op);
  if (op.kind == OpKind::backward_input)
    arrival_[index_.of({OpKind::backward_weight, op.stage, op.microbatch, op.domain})] = event.time;
  if (const auto reader = reader_of(op, layout_)) deliver(op, *reader, event.time);
}

void EventLoop::wake(int rank) {
  char& awake = awake_[static_cast<std::size_t>(rank)];
  if (!awake) to_wake_.push_back(rank);
  awake = true;
}

void EventLoop::deliver(const Op& source, const Op& reader, double now) {
  const double arrival = is_cut(layout_, source.stage, reader.stage)
                             ? cross(source, is_on_edge(layout_, source.stage), now)
                             : now;
  arrival_[index_.of(reader)] = arrival;
  const int number = layout_.number_of(reader.microbatch, reader.domain);
  const int all = layout_.microbatches * layout_.domains;
  const int rank = rank_of_[static_cast<std::size_t>(reader.stage * all + number)];
  if (arrival > now)
    push({arrival, rank, kWake});
  else
    wake(rank);
}

double EventLoop::cross(const Op& source, bool up, double now) {
  const Transfer& transfer = up ? costs_.link.up : costs_.link.down;
  double& free = direction_free_[up ? 0 : 1];
  const double start = std::max(free, now);
  free = start + (source.kind == OpKind::forward ? transfer.activation : transfer.gradient);
  crossings_.push_back({source, up, now, start, free, free + costs_.link.latency});
  return crossings_.back().arrival;
}

}  // namespace hairpin::schedule
