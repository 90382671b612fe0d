// How something countable is divided over ranks.
#pragma once

#include <cstdint>

namespace hairpin::mesh {

// A run of indices [begin, begin + count).
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t end() const { return begin + count; }
  bool contains(std::int64_t index) const { return index >= begin && index < end(); }
  bool operator==(const Range&) const = default;
};

// The share of rank `index` of `ranks` in `total`, in rank order without gaps: shares differ by one
// at most, the first `total % ranks` of them being the larger. A share may be empty.
constexpr Range share(std::int64_t total, std::int64_t ranks, std::int64_t index) {
  const std::int64_t least = total / ranks, larger = total % ranks;
  return {index * least + (index < larger ? index : larger), least + (index < larger ? 1 : 0)};
}

}  // namespace hairpin::mesh
