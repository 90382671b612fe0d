// Seeded randomness that is the same on every machine: SplitMix64 (Steele, Lea, Flood, OOPSLA
// 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace hairpin {

// A stream of its own for each purpose, so that drawing from one never shifts another.
std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound >= 1, without modulo bias.
  std::uint64_t below(std::uint64_t bound);
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)

  template <class T>
  void shuffle(std::span<T> items) {  // Fisher-Yates
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace hairpin
