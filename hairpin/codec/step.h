// One element of a block: its magnitude, its number of steps, and two of them in a byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hairpin/codec/block_scale.h"

namespace hairpin::codec {

inline constexpr float kInt8Levels = 127.0f;
inline constexpr float kInt4Levels = 7.0f;

// Orders as magnitudes do; a NaN or infinity is above every number.
inline std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

// Rounded to nearest even; 0 in a block without finite scale.
inline std::int8_t to_steps(float x, const BlockScale& scale) {
  if (scale.bits == kNanScale) return 0;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  return static_cast<std::int8_t>((x * scale.inverse + kRound) - kRound);
}

inline std::byte pair_of_nibbles(std::int8_t low, std::int8_t high) {
  return static_cast<std::byte>((low & 15) | (high & 15) << 4);
}
inline std::int8_t low_nibble(std::byte pair) {
  return static_cast<std::int8_t>(static_cast<std::int8_t>(std::to_integer<int>(pair << 4)) >> 4);
}
inline std::int8_t high_nibble(std::byte pair) {
  return static_cast<std::int8_t>(static_cast<std::int8_t>(std::to_integer<int>(pair)) >> 4);
}

}  // namespace hairpin::codec
