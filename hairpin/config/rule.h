// What a key's value must be beyond its type, with the words that say so.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "hairpin/config/field.h"

namespace hairpin::config {

template <class T>
struct Rule {
  std::string words;  // "1 to 256"; empty: any value of the type
  std::function<Complaint(const T&)> check;
};

template <class T>
Rule<T> any() {
  return {"", [](const T&) { return Complaint{}; }};
}

namespace internal {
template <class T>
Rule<T> where(std::string words, std::function<bool(const T&)> holds) {
  auto complaint = fmt::format("out of range; give {}", words);
  return {std::move(words), [holds = std::move(holds), complaint](const T& value) {
            return holds(value) ? Complaint{} : Complaint{complaint};
          }};
}
}  // namespace internal

template <class T>
Rule<T> between(T low, T high) {  // both ends included
  return internal::where<T>(fmt::format("{} to {}", low, high),
                            [=](const T& value) { return low <= value && value <= high; });
}
inline Rule<double> positive() {
  return internal::where<double>("greater than 0",
                                 [](double value) { return value > 0 && std::isfinite(value); });
}
inline Rule<double> not_negative() {
  return internal::where<double>("0 or greater",
                                 [](double value) { return value >= 0 && std::isfinite(value); });
}
inline Rule<double> below_one() {
  return internal::where<double>("0 or greater and less than 1",
                                 [](double value) { return value >= 0 && value < 1; });
}

// One of `choices`; the words of `not_built` are refused as such.
Rule<std::string> one_of(std::vector<std::string> choices, std::vector<std::string> not_built = {});

Rule<std::string> an_address();                     // see address.h
Rule<std::vector<std::int64_t>> split_layers();     // at least three, each 0 or greater
Rule<std::vector<std::int64_t>> pipeline_layers();  // at least one, each 0 or greater
Rule<std::int64_t> zero_stage();                    // 0 or 1; 2 and 3 are refused as not built

}  // namespace hairpin::config
