#include "hairpin/train/step_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "hairpin/link/memory_link.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;
using Runs = std::vector<wire::SegmentSums>;

TEST(TotalsExchange, LocalRanksGetOneTotalEachStep) {
  constexpr int kRanks = 3, kSteps = 50;
  TotalsExchange exchange(6, kRanks, optim::NormType::two, nullptr);
  std::vector<std::vector<StepTotals>> totals(kRanks);
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&, rank] {
        for (int step = 0; step < kSteps; ++step) {
          const double sum = step + 0.1 * rank;
          Contribution own{.terms = {{rank, sum}, {rank + 3, 2 * sum}}, .busy_seconds = 1.0};
          if (rank == 0) own.trained_tokens = 10 + step;
          totals[static_cast<std::size_t>(rank)].push_back(
              exchange.exchange(step, rank, own).value());
        }
      });
  }
  for (int step = 0; step < kSteps; ++step) {
    double sum = 0;  // in model order
    for (const double factor : {1.0, 2.0})
      for (int rank = 0; rank < kRanks; ++rank) sum += factor * (step + 0.1 * rank);
    for (const auto& of_rank : totals) {
      const auto& got = of_rank[static_cast<std::size_t>(step)];
      EXPECT_EQ(got.norm, std::sqrt(sum)) << step;
      EXPECT_EQ(got.trained_tokens, 10 + step);
      EXPECT_EQ(got.busy_seconds, 3.0);
    }
  }
}

// The edge of a model of five segments: it holds 0, 1 and 4, the peer 2 and 3.
class AcrossTheLink : public testing::Test {
 protected:
  const Contribution own_{.terms = {{0, 1.0}, {1, 2.0}, {4, 3.0}}, .trained_tokens = 7};

  Result<StepTotals> exchange(const wire::StepScalars& peers) {
    EXPECT_TRUE(pair_.cloud->send(peers));
    TotalsExchange exchange(5, 1, optim::NormType::two, &session_);
    return exchange.exchange(4, 0, own_);
  }
  void expect_refused(const wire::StepScalars& peers) {
    const auto refused = exchange(peers);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::peer);
  }

  link::MemoryPair pair_ = link::make_memory_pair();
  pipeline::Mailbox mailbox_;
  pipeline::LinkSession session_{*pair_.edge, mailbox_, {.role = wire::Role::edge}};
};

TEST_F(AcrossTheLink, BothSitesGetTheNormOfTheWholeModel) {
  const auto totals = exchange({.step = 4, .runs = {{2, {10.0, 20.0}}}});
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(totals->norm, std::sqrt(1.0 + 2.0 + 10.0 + 20.0 + 3.0));
  EXPECT_EQ(totals->trained_tokens, 7);
  const wire::StepScalars want{
      .step = 4, .trained_tokens = 7, .runs = {{0, {1.0, 2.0}}, {4, {3.0}}}};
  EXPECT_EQ(std::get<wire::StepScalars>(pair_.cloud->receive().value()), want);
}

TEST_F(AcrossTheLink, RunsThatAreNotExactlyThePeersAreRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Runs> wrong = {
      {},                                           // nothing
      {{2, {1.0}}},                                 // 3 is missing
      {{2, {1.0}}, {2, {1.0}}},                     // one twice
      {{2, {1.0, 1.0}}, {3, {1.0}}},                // overlapping
      {{1, {1.0, 1.0, 1.0}}},                       // 1 is this side's
      {{2, {1.0, 1.0, 1.0}}},                       // 4 is this side's
      {{2, {1.0, 1.0}}, {5, {1.0}}},                // beyond the model
      {{2, {1.0, 1.0}}, {0xffffffff, {1.0, 1.0}}},  // far beyond
      {{2, {1.0, -1.0}}},                           // a negative sum of squares
      {{2, {-infinity, 1.0}}},                      //
  };
  for (const auto& runs : wrong) expect_refused({.step = 4, .runs = runs});
}

TEST_F(AcrossTheLink, ScalarsOfAnotherStepOrOfAnotherSitesTokensAreRefused) {
  const Runs runs = {{2, {1.0, 1.0}}};
  expect_refused({.step = 3, .runs = runs});
  expect_refused({.step = 5, .runs = runs});
  expect_refused({.step = 4, .trained_tokens = ~std::uint64_t{0}, .runs = runs});
  EXPECT_TRUE(exchange({.step = 4, .runs = runs}));
}

// Not the peer's protocol but the training went wrong: the caller says so.
TEST_F(AcrossTheLink, ANormThatIsNotFiniteComesThrough) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(std::isfinite(exchange({.step = 4, .runs = {{2, {1.0, bad}}}})->norm));
}

TEST_F(AcrossTheLink, AFailureOfTheLastRankIsTheOthersToo) {
  TotalsExchange exchange(5, 2, optim::NormType::two, &session_);
  ASSERT_TRUE(pair_.cloud->send(wire::StepScalars{.step = 0}));
  Error errors[2];
  const auto rank = [&](int index, std::vector<std::pair<std::int64_t, double>> sums) {
    errors[index] = exchange.exchange(0, index, {.terms = std::move(sums)}).error();
  };
  {
    const std::jthread first(rank, 0, std::vector{std::pair<std::int64_t, double>{0, 1.0}});
    const std::jthread second(rank, 1, std::vector{std::pair<std::int64_t, double>{4, 1.0}});
  }
  EXPECT_EQ(errors[0].kind, ErrorKind::peer);
  EXPECT_EQ(errors[0].message, errors[1].message);
}

TEST(TotalsExchange, AFailureElsewhereWakesWhoWaits) {
  TotalsExchange exchange(2, 2, optim::NormType::two, nullptr);
  Error heard;
  {
    const std::jthread waiting(
        [&] { heard = exchange.exchange(0, 0, {.terms = {{0, 1.0}}}).error(); });
    exchange.fail({ErrorKind::link_lost, "gone"});
    exchange.fail({ErrorKind::internal, "later"});
  }
  EXPECT_EQ(heard.message, "gone");
}

}  // namespace
}  // namespace hairpin::train
