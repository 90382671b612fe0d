#include "hairpin/train/step_totals.h"

#include "hairpin/optim/gradient_norm.h"

namespace hairpin::train {
namespace {

// Sums by segment, unset (-1) where another site holds the segment, as runs.
std::vector<wire::SegmentSums> runs_of(const std::vector<double>& sums) {
  std::vector<wire::SegmentSums> runs;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == -1.0) continue;
    if (i == 0 || sums[i - 1] == -1.0) runs.push_back({static_cast<std::uint32_t>(i), {}});
    runs.back().norm_terms.push_back(sums[i]);
  }
  return runs;
}

// Fills exactly the unset entries, or the peer is wrong.
Result<void> merge(std::vector<double>& sums, const std::vector<wire::SegmentSums>& runs) {
  std::size_t filled = 0, missing = 0;
  for (const double sum : sums) missing += sum == -1.0;
  for (const auto& run : runs)
    for (std::size_t i = 0; i < run.norm_terms.size(); ++i, ++filled) {
      const auto segment = run.first_segment + i;
      if (segment >= sums.size() || sums[segment] != -1.0 || run.norm_terms[i] < 0)
        return fail(ErrorKind::peer, "the peer sent a gradient norm for segment {}, not its own",
                    segment);
      sums[segment] = run.norm_terms[i];
    }
  if (filled != missing)
    return fail(ErrorKind::peer, "the peer sent gradient norms of {} segments, it holds {}", filled,
                missing);
  return {};
}

}  // namespace

Result<StepTotals> TotalsExchange::exchange(std::int64_t step, const Contribution& contribution) {
  std::unique_lock lock(mutex_);
  if (arrived_ == 0) {
    sums_.assign(static_cast<std::size_t>(num_segments_), -1.0);
    collected_ = {};
  }
  for (const auto& [segment, sum] : contribution.sums)
    sums_[static_cast<std::size_t>(segment)] = sum;
  collected_.busy_seconds += contribution.busy_seconds;
  collected_.trained_tokens += contribution.trained_tokens;
  if (++arrived_ < local_ranks_) {
    changed_.wait(lock, [&] { return error_ || finished_step_ >= step; });
    if (error_) return tl::unexpected<Error>(*error_);
    return totals_;
  }
  lock.unlock();
  auto totals = combine(step, sums_, collected_);
  lock.lock();
  arrived_ = 0;
  if (totals) {
    finished_step_ = step;
    totals_ = *totals;
  } else if (!error_) {
    error_ = totals.error();
  }
  changed_.notify_all();
  return totals;
}

Result<StepTotals> TotalsExchange::combine(std::int64_t step, std::vector<double> sums,
                                           StepTotals totals) {
  if (session_ != nullptr) {
    wire::StepScalars own{.step = static_cast<std::uint32_t>(step),
                          .trained_tokens = static_cast<std::uint64_t>(totals.trained_tokens),
                          .runs = runs_of(sums)};
    HAIRPIN_CHECK_OK(session_->send(std::move(own)));
    HAIRPIN_TRY(const auto peers, session_->next_scalars());
    if (peers.step != step)
      return hairpin::fail(ErrorKind::peer, "the peer's scalars are of step {}, due is {}",
                           peers.step, step);
    if (totals.trained_tokens > 0 && peers.trained_tokens > 0)
      return hairpin::fail(ErrorKind::peer, "the cloud claims to have trained on tokens");
    HAIRPIN_CHECK_OK(merge(sums, peers.runs));
    totals.trained_tokens += static_cast<std::int64_t>(peers.trained_tokens);
  }
  totals.norm = optim::global_norm(sums);
  return totals;
}

void TotalsExchange::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  changed_.notify_all();
}

}  // namespace hairpin::train
