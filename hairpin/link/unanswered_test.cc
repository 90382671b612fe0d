#include "hairpin/link/unanswered.h"

#include <gtest/gtest.h>

namespace hairpin::link {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

TcpState sent(milliseconds since_acknowledged) {
  return {.unacknowledged = true, .since_acknowledged = since_acknowledged};
}

TEST(Unanswered, IdlenessIsNoSilence) {
  Unanswered unanswered;
  const Moment start{};
  EXPECT_EQ(unanswered.see(start, {.since_acknowledged = 20s}), 0ms);
  EXPECT_EQ(unanswered.see(start + 250ms, sent(20250ms)), 0ms);
  EXPECT_EQ(unanswered.see(start + 500ms, sent(20500ms)), 250ms);
  EXPECT_EQ(unanswered.see(start + 750ms, {.since_acknowledged = 100ms}), 0ms);
  EXPECT_EQ(unanswered.see(start + 20s, sent(19350ms)), 0ms);
}

TEST(Unanswered, SilenceCountsFromTheFirstLook) {
  Unanswered unanswered;
  const Moment start{};
  for (auto time = 0ms; time <= 9s; time += 250ms)
    EXPECT_EQ(unanswered.see(start + time, sent(time + 100ms)), time);
}

TEST(Unanswered, AnAcknowledgementBetweenTwoLooksEndsIt) {
  Unanswered unanswered;
  const Moment start{};
  unanswered.see(start, sent(0ms));
  EXPECT_EQ(unanswered.see(start + 5s, sent(5s)), 5s);
  EXPECT_EQ(unanswered.see(start + 6s, sent(40ms)), 40ms);
  EXPECT_EQ(unanswered.see(start + 9s, sent(3040ms)), 3s + 40ms);
}

}  // namespace
}  // namespace hairpin::link
