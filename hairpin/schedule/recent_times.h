// Measured times without their noise.
#pragma once

#include <cstddef>
#include <deque>

#include "hairpin/schedule/times.h"

namespace hairpin::schedule {

// Of the last three steps. Not thread-safe.
class RecentTimes {
 public:
  static constexpr std::size_t kSteps = 3;

  // All of one layout.
  void add(Times times);
  std::size_t count() const { return last_.size(); }
  // Of each time by itself the median, of two the lesser. After an `add`.
  Times median() const;

 private:
  std::deque<Times> last_;
};

}  // namespace hairpin::schedule
