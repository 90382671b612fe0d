// The scale of a block of int8 or int4: one step of its grid.
#pragma once

#include <bit>
#include <cstdint>

#include "hairpin/codec/bf16.h"

namespace hairpin::codec {

inline constexpr std::uint16_t kNanScale = kBf16Nan;        // the block held a NaN or an infinity
inline constexpr std::uint16_t kSmallestScale = 0x0080;     // 2^-126, besides 0
inline constexpr std::uint32_t kInfinityBits = 0x7f800000;  // no finite magnitude reaches it
inline constexpr std::uint32_t kHalfSmallest = 0x00400000;  // 2^-127: rounds to 0 steps

struct BlockScale {
  std::uint16_t bits;  // bfloat16
  float inverse;       // steps per unit; 0 when every element is 0 steps
};

// `largest` is the largest magnitude of the block, as bits, so that a NaN or infinity is larger
// than any number; it lands on `levels` steps. The scale is rounded to nearest, which never puts an
// element beyond them: bfloat16 is off by at most 2^-9, and 127 (1 + 2^-9) still rounds to 127.
__attribute__((always_inline)) inline BlockScale block_scale(std::uint32_t largest, float levels) {
  if (largest >= kInfinityBits) return {kNanScale, 0.0f};
  if (largest <= kHalfSmallest) return {0, 0.0f};
  auto bits = bf16_from_fp32(std::bit_cast<float>(largest) / levels);
  if (bits < kSmallestScale) bits = kSmallestScale;
  return {bits, 1.0f / fp32_from_bf16(bits)};
}

}  // namespace hairpin::codec
