#include "hairpin/schedule/recent_times.h"

#include <utility>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/base/lesser_median.h"

namespace hairpin::schedule {
namespace {

// Every time of TIMES, in one fixed order.
std::vector<std::int64_t*> numbers_of(Times& times) {
  std::vector<std::int64_t*> numbers = {&times.latency, &times.up.activation, &times.up.gradient,
                                        &times.down.activation, &times.down.gradient};
  for (auto* list : {&times.forward, &times.backward, &times.backward_weight})
    for (auto& time : *list) numbers.push_back(&time);
  return numbers;
}

}  // namespace

void RecentTimes::add(Times times) {
  last_.push_back(std::move(times));
  if (last_.size() > kSteps) last_.pop_front();
}

Times RecentTimes::median() const {
  HAIRPIN_CHECK(!last_.empty(), "no times were added");
  std::vector<Times> steps(last_.begin(), last_.end());
  Times median = steps.front();
  const auto into = numbers_of(median);
  std::vector<std::vector<std::int64_t*>> all;
  for (auto& step : steps) all.push_back(numbers_of(step));
  for (std::size_t i = 0; i < into.size(); ++i) {
    std::vector<std::int64_t> values;
    for (const auto& numbers : all) values.push_back(*numbers.at(i));
    *into[i] = lesser_median(std::move(values));
  }
  return median;
}

}  // namespace hairpin::schedule
