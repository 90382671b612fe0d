// The one median of measured times: always a value that was measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hairpin {

// Of an even number the lesser of the middle two; T() of none.
template <class T>
T lesser_median(std::vector<T> values) {
  if (values.empty()) return T();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hairpin
