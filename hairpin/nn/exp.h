// e^x for the vectorised kernels: branch-free, so that compilers vectorise it, and with the same
// bits in every lane, tail and target clone. Within 2 units in the last place of the exact value
// over [-87, 88]; saturates outside; NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace hairpin::nn {

// x = n ln 2 + r; e^r by the polynomial of Cephes' expf (Moshier); ln 2 is split in two parts.
__attribute__((always_inline)) inline float exp_kernel(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float n = (x * 1.44269504f + kRound) - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = (p * r * r + r) + 1.0f;
  const auto exponent = static_cast<std::int32_t>(n) + 127;
  return y * std::bit_cast<float>(exponent << 23);
}

}  // namespace hairpin::nn
