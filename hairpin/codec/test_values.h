// Inputs for the codec's tests: what training sends, and what must not break it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hairpin/base/random.h"

namespace hairpin::codec {

using Floats = std::vector<float>;

// Uniform in [-scale, scale).
inline Floats random_floats(std::size_t count, std::uint64_t seed, float scale = 1.0f) {
  Random random(seed);
  Floats values(count);
  for (auto& x : values) x = scale * static_cast<float>(2.0 * random.unit() - 1.0);
  return values;
}

// Any bits: every exponent, denormals, NaNs and infinities.
inline Floats random_bits(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Floats values(count);
  for (auto& x : values) x = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
  return values;
}

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kLargest = std::numeric_limits<float>::max();
inline constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

inline std::vector<std::uint32_t> bits_of(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

}  // namespace hairpin::codec
