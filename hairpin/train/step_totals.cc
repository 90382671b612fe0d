#include "hairpin/train/step_totals.h"

#include <algorithm>

#include "hairpin/train/stage_times.h"

namespace hairpin::train {
namespace {

constexpr double kUnset = -1.0;  // no term is negative

// Terms by segment, unset where another site holds the segment, as runs.
std::vector<wire::SegmentSums> runs_of(const std::vector<double>& terms) {
  std::vector<wire::SegmentSums> runs;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i] == kUnset) continue;
    if (i == 0 || terms[i - 1] == kUnset) runs.push_back({static_cast<std::uint32_t>(i), {}});
    runs.back().norm_terms.push_back(terms[i]);
  }
  return runs;
}

// Fills exactly the unset entries, or the peer is wrong.
Result<void> merge(std::vector<double>& terms, const std::vector<wire::SegmentSums>& runs) {
  std::size_t filled = 0, missing = 0;
  for (const double term : terms) missing += term == kUnset;
  for (const auto& run : runs)
    for (std::size_t i = 0; i < run.norm_terms.size(); ++i, ++filled) {
      const auto segment = run.first_segment + i;
      if (segment >= terms.size() || terms[segment] != kUnset || run.norm_terms[i] < 0)
        return fail(ErrorKind::peer, "the peer sent a gradient norm for segment {}, not its own",
                    segment);
      terms[segment] = run.norm_terms[i];
    }
  if (filled != missing)
    return fail(ErrorKind::peer, "the peer sent gradient norms of {} segments, it holds {}", filled,
                missing);
  return {};
}

}  // namespace

Result<StepTotals> TotalsExchange::exchange(std::int64_t step, int rank,
                                            Contribution contribution) {
  std::unique_lock lock(mutex_);
  contributions_.at(static_cast<std::size_t>(rank)) = std::move(contribution);
  if (++arrived_ < contributions_.size()) {
    changed_.wait(lock, [&] { return error_ || finished_step_ >= step; });
    if (error_) return tl::unexpected<Error>(*error_);
    return totals_;
  }
  // All others wait above: nobody else touches the contributions meanwhile.
  lock.unlock();
  auto totals = combine(step);
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

Result<StepTotals> TotalsExchange::combine(std::int64_t step) {
  auto terms = site_terms();
  auto totals = site_totals();
  if (session_ != nullptr) {
    wire::StepScalars own{.step = static_cast<std::uint32_t>(step),
                          .trained_tokens = static_cast<std::uint64_t>(totals.trained_tokens),
                          .runs = runs_of(terms)};
    HAIRPIN_CHECK_OK(tell_times(step));
    HAIRPIN_CHECK_OK(session_->send(std::move(own)));
    HAIRPIN_TRY(const auto peers, session_->next_scalars());
    if (peers.step != step)
      return hairpin::fail(ErrorKind::peer, "the peer's scalars are of step {}, due is {}",
                           peers.step, step);
    if (totals.trained_tokens > 0 && peers.trained_tokens > 0)
      return hairpin::fail(ErrorKind::peer, "the cloud claims to have trained on tokens");
    HAIRPIN_CHECK_OK(merge(terms, peers.runs));
    totals.trained_tokens += static_cast<std::int64_t>(peers.trained_tokens);
    if (agreement_ != nullptr) {
      HAIRPIN_TRY(totals.schedule, agreement_->hear(step));
    }
  }
  totals.norm = optim::global_norm(terms, norm_);
  return totals;
}

Result<void> TotalsExchange::tell_times(std::int64_t step) {
  if (agreement_ == nullptr) return {};
  std::vector<wire::StageTime> slowest;
  std::int64_t tokens = 0;
  for (const auto& contribution : contributions_) {
    join_slowest(slowest, contribution.stage_times);
    tokens = std::max(tokens, contribution.tokens);
  }
  return agreement_->tell(step, std::move(slowest), tokens);
}

// By segment; kUnset where the peer holds it.
std::vector<double> TotalsExchange::site_terms() const {
  std::vector<double> terms(static_cast<std::size_t>(num_segments_), kUnset);
  for (const auto& contribution : contributions_)
    for (const auto& [segment, term] : contribution.terms) {
      double& joined = terms[static_cast<std::size_t>(segment)];
      joined = joined == kUnset ? term : optim::join_terms(joined, term, norm_);
    }
  return terms;
}

StepTotals TotalsExchange::site_totals() const {
  StepTotals totals;
  std::vector<double> losses;
  for (const auto& contribution : contributions_) {
    totals.busy_seconds += contribution.busy_seconds;
    totals.trained_tokens += contribution.trained_tokens;
    totals.moved += contribution.moved;
    losses.resize(std::max(losses.size(), contribution.losses.size()));
    for (std::size_t i = 0; i < contribution.losses.size(); ++i)
      losses[i] += contribution.losses[i];
  }
  for (const double loss : losses) totals.loss += loss;
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
