#include "hairpin/schedule/checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/walk.h"

namespace hairpin::schedule {
namespace {

bool in_range(int value, int end) { return value >= 0 && value < end; }

Result<void> check_place(const Schedule& s, int rank, const Op& op) {
  const Notation notation(s);
  if (!in_range(op.stage, s.num_stages()) || !in_range(op.microbatch, s.microbatches) ||
      !in_range(op.domain, s.domains))
    return bad_input(
        "{} on rank {} (stage {}, domain {}) is none of the schedule's {} stages, {} microbatches "
        "and {} domains",
        notation.text(op), rank, op.stage, op.domain, s.num_stages(), s.microbatches, s.domains);
  if (!s.has_kind(op))
    return bad_input("{} stands on rank {}, but the backward of stage {} is {}", notation.text(op),
                     rank, op.stage, s.is_split(op.stage) ? "split" : "whole");
  if (const int home = s.rank_of(op); home != rank)
    return bad_input("{} (stage {}) stands on rank {}, but belongs on rank {}", notation.text(op),
                     op.stage, rank, home);
  return {};
}

Result<void> check_exactly_once(const Schedule& s) {
  const Notation notation(s);
  const OpIndex index(s);
  std::vector<bool> seen(index.size());
  for (int rank = 0; rank < s.num_ranks(); ++rank)
    for (const Op& op : s.ranks[static_cast<std::size_t>(rank)]) {
      HAIRPIN_CHECK_OK(check_place(s, rank, op));
      if (seen[index.of(op)])
        return bad_input("{} on rank {} stands twice", notation.text(op), rank);
      seen[index.of(op)] = true;
    }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return {};
  const Op op = index.op(static_cast<std::size_t>(missing - seen.begin()));
  return bad_input("{} is missing on rank {}", notation.text(op), s.rank_of(op));
}

// One direction of one boundary and domain, between two ranks.
struct Channel {
  bool forward;  // activations, else gradients
  int boundary;  // between stage BOUNDARY and the next
  int domain;
  int sender, receiver;
  auto operator<=>(const Channel&) const = default;
};

// The ops at both ends, each in the order of its rank's list.
struct Ends {
  std::vector<Op> sends, receives;
};

std::map<Channel, Ends> channels_of(const Schedule& s) {
  std::map<Channel, Ends> channels;
  for (int rank = 0; rank < s.num_ranks(); ++rank)
    for (const Op& op : s.ranks[static_cast<std::size_t>(rank)]) {
      if (op.kind == OpKind::backward_weight) continue;  // nothing crosses
      const bool forward = op.kind == OpKind::forward;
      const int next = forward ? op.stage + 1 : op.stage - 1;
      const int previous = forward ? op.stage - 1 : op.stage + 1;
      const auto at_other_rank = [&s, &op, rank](int stage) -> std::optional<int> {
        if (stage < 0 || stage >= s.num_stages()) return std::nullopt;
        const int other = s.rank_of(stage, op.domain, op.microbatch);
        return other == rank ? std::nullopt : std::optional(other);
      };
      if (const auto to = at_other_rank(next))
        channels[{forward, std::min(op.stage, next), op.domain, rank, *to}].sends.push_back(op);
      if (const auto from = at_other_rank(previous))
        channels[{forward, std::min(op.stage, previous), op.domain, *from, rank}]
            .receives.push_back(op);
    }
  return channels;
}

Result<void> check_channels(const Schedule& s) {
  for (const auto& [channel, ends] : channels_of(s)) {
    const auto& [sends, receives] = ends;
    const auto [a, b] =
        std::mismatch(sends.begin(), sends.end(), receives.begin(),
                      [](const Op& x, const Op& y) { return x.microbatch == y.microbatch; });
    if (a == sends.end()) continue;
    const Notation notation(s);
    return bad_input(
        "the {} channel from rank {} to rank {} has two orders: its message {} is sent by {} but "
        "read by {}",
        channel.forward ? "activation" : "gradient", channel.sender, channel.receiver,
        a - sends.begin() + 1, notation.text(*a), notation.text(*b));
  }
  return {};
}

Result<void> check_weights_ascend(const Schedule& s) {
  const Notation notation(s);
  for (int rank = 0; rank < s.num_ranks(); ++rank) {
    std::vector<const Op*> last(s.position_of_stage.size());
    for (const Op& op : s.ranks[static_cast<std::size_t>(rank)]) {
      if (op.kind != OpKind::backward_weight) continue;
      const Op*& before = last[static_cast<std::size_t>(op.stage)];
      if (before != nullptr && op < *before)
        return bad_input(
            "{} on rank {} stands after {}; weights' gradients are added in ascending order",
            notation.text(op), rank, notation.text(*before));
      before = &op;
    }
  }
  return {};
}

// What OP adds to the microbatches in flight, or with PENDING to the pending weights.
int change(const Op& op, bool pending) {
  if (!pending) return op.kind == OpKind::forward ? 1 : op.kind == OpKind::backward_weight ? 0 : -1;
  return op.kind == OpKind::backward_input ? 1 : op.kind == OpKind::backward_weight ? -1 : 0;
}

Result<void> check_cap(const Schedule& s, const std::vector<int>& cap, bool pending) {
  if (cap.empty()) return {};
  const char* what = pending ? "pending weight gradients" : "microbatches in flight";
  if (cap.size() != s.position_of_stage.size())
    return bad_input("caps on {} were given for {} of {} stages", what, cap.size(), s.num_stages());
  const Notation notation(s);
  for (int rank = 0; rank < s.num_ranks(); ++rank) {
    std::vector<int> held(cap.size());
    for (const Op& op : s.ranks[static_cast<std::size_t>(rank)]) {
      const auto stage = static_cast<std::size_t>(op.stage);
      held[stage] += change(op, pending);
      if (held[stage] > cap[stage])
        return bad_input("{} on rank {} makes {} {} on stage {}, whose cap is {}",
                         notation.text(op), rank, held[stage], what, op.stage, cap[stage]);
    }
  }
  return {};
}

}  // namespace

Result<void> check_layout(const Schedule& s) {
  if (s.position_of_stage.empty() || s.microbatches < 1 || s.domains < 1)
    return bad_input(
        "a schedule needs a stage, a microbatch and a domain; this one has {}, {} and {}",
        s.num_stages(), s.microbatches, s.domains);
  if (!s.split_backward.empty() && s.split_backward.size() != s.position_of_stage.size())
    return bad_input("the schedule says of {} stages whether they are split, but has {}",
                     s.split_backward.size(), s.num_stages());
  const auto split = std::count(s.split_backward.begin(), s.split_backward.end(), true);
  if (static_cast<double>(2 * s.num_stages() + split) * s.microbatches * s.domains >
      static_cast<double>(kMaxOps))
    return bad_input("a schedule of {} stages, {} microbatches and {} domains has more than {} ops",
                     s.num_stages(), s.microbatches, s.domains, kMaxOps);
  for (int stage = 0; stage < s.num_stages(); ++stage)
    if (const int position = s.position_of_stage[static_cast<std::size_t>(stage)];
        position < 0 || position >= s.num_ranks())
      return bad_input("stage {} lies at position {} of a pipeline that has {} ranks in all", stage,
                       position, s.num_ranks());
  if (s.edge_ranks < 0) return bad_input("the schedule has {} edge ranks", s.edge_ranks);
  const int own = s.pp() - (s.edge_ranks > 0 ? 1 : 0);
  const std::int64_t want = s.edge_ranks + std::int64_t{s.domains} * own;
  if (s.num_ranks() != want)
    return bad_input(
        "{} edge ranks and {} domains of {} ranks are {} ranks, but there are {} lists",
        s.edge_ranks, s.domains, own, want, s.num_ranks());
  return {};
}

Result<void> check(const Schedule& schedule, const CheckOptions& options) {
  HAIRPIN_CHECK_OK(check_layout(schedule));
  HAIRPIN_CHECK_OK(check_exactly_once(schedule));
  HAIRPIN_CHECK_OK(walk(schedule, [](int, std::size_t, const Op&) {}));
  HAIRPIN_CHECK_OK(check_channels(schedule));
  HAIRPIN_CHECK_OK(check_weights_ascend(schedule));
  HAIRPIN_CHECK_OK(check_cap(schedule, options.in_flight_cap, /*pending=*/false));
  return check_cap(schedule, options.pending_weights_cap, /*pending=*/true);
}

}  // namespace hairpin::schedule
