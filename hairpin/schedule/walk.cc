#include "hairpin/schedule/walk.h"

#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {
namespace {

constexpr int kNobody = -1;

class Walk {
 public:
  explicit Walk(const Schedule& schedule)
      : schedule_(schedule),
        index_(schedule),
        done_(index_.size()),
        waiter_(index_.size(), kNobody),
        next_(schedule.ranks.size()) {}

  template <class Visit>
  Result<void> run(const Visit& visit) {
    for (int rank = 0; rank < schedule_.num_ranks(); ++rank) ready_.push_back(rank);
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank, visit);
    }
    for (int rank = 0; rank < schedule_.num_ranks(); ++rank)
      if (head(rank) != nullptr) return deadlock(rank);
    return {};
  }

 private:
  // The op RANK stands at; null at the end of its list.
  const Op* head(int rank) const {
    const auto& ops = schedule_.ranks[static_cast<std::size_t>(rank)];
    const std::size_t next = next_[static_cast<std::size_t>(rank)];
    return next < ops.size() ? &ops[next] : nullptr;
  }

  // Runs RANK's ops until one waits. One waiting rank an op is enough: of the two readers of an
  // input gradient, the weights' op can only wait for it in vain, being on the same rank.
  template <class Visit>
  void advance(int rank, const Visit& visit) {
    while (const Op* op = head(rank)) {
      if (const auto dependency = data_dependency(*op, schedule_);
          dependency && !done_[index_.of(*dependency)]) {
        waiter_[index_.of(*dependency)] = rank;
        return;
      }
      const std::size_t index = index_.of(*op);
      visit(rank, next_[static_cast<std::size_t>(rank)]++, *op);
      done_[index] = true;
      if (waiter_[index] != kNobody) ready_.push_back(waiter_[index]);
    }
  }

  // Every stuck rank waits for an op of a stuck rank, so following that leads into a cycle.
  Result<void> deadlock(int rank) const {
    std::vector<bool> seen(schedule_.ranks.size());
    while (!seen[static_cast<std::size_t>(rank)]) {
      seen[static_cast<std::size_t>(rank)] = true;
      rank = rank_waited_for(rank);
    }
    std::string story;
    const int first = rank;
    do {
      if (!story.empty()) story += "; ";
      story += describe_wait(rank);
      rank = rank_waited_for(rank);
    } while (rank != first);
    return bad_input("the {} schedule deadlocks: {}", schedule_.kind, story);
  }

  Op awaited(int rank) const {
    const auto dependency = data_dependency(*head(rank), schedule_);
    HAIRPIN_CHECK(dependency.has_value(), "rank {} is stuck at an op that waits for nothing", rank);
    return *dependency;
  }
  int rank_waited_for(int rank) const {
    const Op op = awaited(rank);
    const int other = schedule_.rank_of(op);
    HAIRPIN_CHECK(head(other) != nullptr, "rank {} has ended without running what it holds", other);
    return other;
  }
  std::string describe_wait(int rank) const {
    const Notation notation(schedule_);
    const Op wanted = awaited(rank);
    const int other = rank_waited_for(rank);
    std::string text = fmt::format("{} on rank {} waits for {} on rank {}",
                                   notation.text(*head(rank)), rank, notation.text(wanted), other);
    if (*head(other) != wanted)
      text += fmt::format(", which stands after {} there", notation.text(*head(other)));
    return text;
  }

  const Schedule& schedule_;
  OpIndex index_;
  std::vector<bool> done_;
  std::vector<int> waiter_;        // by op: the rank that waits for it
  std::vector<std::size_t> next_;  // by rank: position in its list
  std::vector<int> ready_;         // ranks that may be able to go on
};

}  // namespace

Result<void> walk(const Schedule& schedule,
                  const std::function<void(int rank, std::size_t position, const Op& op)>& visit) {
  return Walk(schedule).run(visit);
}

}  // namespace hairpin::schedule
