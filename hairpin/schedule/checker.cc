#include "hairpin/schedule/checker.h"

#include <algorithm>

#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/walk.h"

namespace hairpin::schedule {
namespace {

Result<void> check_layout(const Schedule& s) {
  if (s.rank_of_stage.empty() || s.microbatches < 1 || s.domains < 1)
    return bad_input(
        "a schedule needs a stage, a microbatch and a domain; this one has {}, {} and {}",
        s.num_stages(), s.microbatches, s.domains);
  if (2.0 * s.num_stages() * s.microbatches * s.domains > static_cast<double>(kMaxOps))
    return bad_input("a schedule of {} stages, {} microbatches and {} domains has more than {} ops",
                     s.num_stages(), s.microbatches, s.domains, kMaxOps);
  for (int stage = 0; stage < s.num_stages(); ++stage)
    if (const int rank = s.rank_of_stage[static_cast<std::size_t>(stage)];
        rank < 0 || rank >= s.num_ranks())
      return bad_input("stage {} lies on rank {}, but ranks are 0 to {}", stage, rank,
                       s.num_ranks() - 1);
  const int pp = s.ranks_of_one_domain();
  if (s.shared_ranks < 0 || s.shared_ranks > pp)
    return bad_input("{} of {} ranks are said to serve all domains", s.shared_ranks, pp);
  const std::int64_t want = s.shared_ranks + std::int64_t{s.domains} * (pp - s.shared_ranks);
  if (s.num_ranks() != want)
    return bad_input(
        "{} domains of {} ranks, {} of them shared, are {} ranks, but there are {} lists",
        s.domains, pp, s.shared_ranks, want, s.num_ranks());
  return {};
}

bool in_range(int value, int end) { return value >= 0 && value < end; }

Result<void> check_place(const Schedule& s, int rank, const Op& op) {
  const Notation notation(s);
  if (!in_range(op.stage, s.num_stages()) || !in_range(op.microbatch, s.microbatches) ||
      !in_range(op.domain, s.domains))
    return bad_input(
        "{} on rank {} (stage {}, domain {}) is none of the schedule's {} stages, {} microbatches "
        "and {} domains",
        notation.text(op), rank, op.stage, op.domain, s.num_stages(), s.microbatches, s.domains);
  if (const int home = s.rank_of(op.stage, op.domain); home != rank)
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
  return bad_input("{} is missing on rank {}", notation.text(op), s.rank_of(op.stage, op.domain));
}

// The microbatches of one kind, stage and domain in the order of their rank's list.
std::vector<Op> ops_in_order(const Schedule& s, OpKind kind, int stage, int domain) {
  std::vector<Op> ops;
  for (const Op& op : s.ranks[static_cast<std::size_t>(s.rank_of(stage, domain))])
    if (op.kind == kind && op.stage == stage && op.domain == domain) ops.push_back(op);
  return ops;
}

Result<void> check_channel(const Schedule& s, OpKind kind, int from, int to, int domain) {
  const int sender = s.rank_of(from, domain), receiver = s.rank_of(to, domain);
  if (sender == receiver) return {};
  const auto sent = ops_in_order(s, kind, from, domain);
  const auto received = ops_in_order(s, kind, to, domain);
  const auto [a, b] =
      std::mismatch(sent.begin(), sent.end(), received.begin(),
                    [](const Op& x, const Op& y) { return x.microbatch == y.microbatch; });
  if (a == sent.end()) return {};
  const Notation notation(s);
  return bad_input(
      "the {} channel from rank {} to rank {} has two orders: its message {} is sent by {} but "
      "read by {}",
      kind == OpKind::forward ? "activation" : "gradient", sender, receiver, a - sent.begin() + 1,
      notation.text(*a), notation.text(*b));
}

Result<void> check_channels(const Schedule& s) {
  for (int domain = 0; domain < s.domains; ++domain)
    for (int stage = 0; stage + 1 < s.num_stages(); ++stage) {
      HAIRPIN_CHECK_OK(check_channel(s, OpKind::forward, stage, stage + 1, domain));
      HAIRPIN_CHECK_OK(check_channel(s, OpKind::backward, stage + 1, stage, domain));
    }
  return {};
}

Result<void> check_in_flight(const Schedule& s, const std::vector<int>& cap) {
  if (cap.empty()) return {};
  if (cap.size() != s.rank_of_stage.size())
    return bad_input("{} in-flight caps were given for {} stages", cap.size(), s.num_stages());
  const Notation notation(s);
  for (int rank = 0; rank < s.num_ranks(); ++rank) {
    std::vector<int> held(cap.size());
    for (const Op& op : s.ranks[static_cast<std::size_t>(rank)]) {
      const auto stage = static_cast<std::size_t>(op.stage);
      held[stage] += op.kind == OpKind::forward ? 1 : -1;
      if (held[stage] > cap[stage])
        return bad_input(
            "{} on rank {} makes {} microbatches in flight on stage {}, whose cap is {}",
            notation.text(op), rank, held[stage], op.stage, cap[stage]);
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Schedule& schedule, const CheckOptions& options) {
  HAIRPIN_CHECK_OK(check_layout(schedule));
  HAIRPIN_CHECK_OK(check_exactly_once(schedule));
  HAIRPIN_CHECK_OK(walk(schedule, [](int, std::size_t, const Op&) {}));
  HAIRPIN_CHECK_OK(check_channels(schedule));
  return check_in_flight(schedule, options.in_flight_cap);
}

}  // namespace hairpin::schedule
