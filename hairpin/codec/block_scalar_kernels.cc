// The plain twin: the format, element by element.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hairpin/codec/block_kernels.h"
#include "hairpin/codec/block_scale.h"
#include "hairpin/codec/step.h"

namespace hairpin::codec {
namespace {

constexpr std::size_t kBlock = 64;

void hadamard(float* x) {
  for (std::size_t h = 1; h < kBlock; h *= 2)
    for (std::size_t i = 0; i < kBlock; ++i)
      if ((i & h) == 0) {
        const float a = x[i];
        const float b = x[i + h];
        x[i] = a + b;
        x[i + h] = a - b;
      }
}

// The coefficients of a block in steps; returns the scale.
std::uint16_t quantise(const float* x, float levels, std::int8_t* steps) {
  float y[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) y[i] = x[i] * 0x1p-6f;
  hadamard(y);
  std::uint32_t largest = 0;
  for (const float value : y) largest = std::max(largest, magnitude_bits(value));
  const auto scale = block_scale(largest, levels);
  for (std::size_t i = 0; i < kBlock; ++i) steps[i] = to_steps(y[i], scale);
  return scale.bits;
}

void dequantise(const std::int8_t* steps, const std::byte* scale, float* x) {
  std::uint16_t bits;
  std::memcpy(&bits, scale, sizeof bits);
  for (std::size_t i = 0; i < kBlock; ++i) x[i] = steps[i];
  hadamard(x);
  for (std::size_t i = 0; i < kBlock; ++i) x[i] *= fp32_from_bf16(bits);
}

void encode_int8(const float* x, std::byte* out, std::size_t count) {
  for (; count > 0; --count, x += kBlock, out += 2 + kBlock) {
    std::int8_t steps[kBlock];
    const auto scale = quantise(x, kInt8Levels, steps);
    std::memcpy(out, &scale, 2);
    std::memcpy(out + 2, steps, kBlock);
  }
}

void encode_int4(const float* x, std::byte* out, std::size_t count) {
  for (; count > 0; --count, x += kBlock, out += 2 + kBlock / 2) {
    std::int8_t steps[kBlock];
    const auto scale = quantise(x, kInt4Levels, steps);
    std::memcpy(out, &scale, 2);
    for (std::size_t i = 0; i < kBlock / 2; ++i)
      out[2 + i] = pair_of_nibbles(steps[i], steps[i + kBlock / 2]);
  }
}

void decode_int8(const std::byte* in, float* x, std::size_t count) {
  for (; count > 0; --count, x += kBlock, in += 2 + kBlock) {
    std::int8_t steps[kBlock];
    std::memcpy(steps, in + 2, kBlock);
    dequantise(steps, in, x);
  }
}

void decode_int4(const std::byte* in, float* x, std::size_t count) {
  for (; count > 0; --count, x += kBlock, in += 2 + kBlock / 2) {
    std::int8_t steps[kBlock];
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
      steps[i] = low_nibble(in[2 + i]);
      steps[i + kBlock / 2] = high_nibble(in[2 + i]);
    }
    dequantise(steps, in, x);
  }
}

}  // namespace

const BlockKernels kScalarKernels{"scalar", encode_int8, encode_int4, decode_int8, decode_int4};

}  // namespace hairpin::codec
