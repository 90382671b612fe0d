// bfloat16: the upper half of an fp32, rounded to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace hairpin::codec {

inline constexpr std::uint16_t kBf16Nan = 0x7fc0;  // what every NaN becomes

// Infinity stays infinity, and finite values above the largest bfloat16 become it.
__attribute__((always_inline)) inline std::uint16_t bf16_from_fp32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? kBf16Nan : rounded);
}

__attribute__((always_inline)) inline float fp32_from_bf16(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}

}  // namespace hairpin::codec
