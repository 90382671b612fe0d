// A block in four registers of 16 lanes. Needs AVX-512F alone.
#include "hairpin/codec/block_kernels.h"

#if defined(__x86_64__)
#if !defined(__clang__)
// g++ 12 warns of the vectors that its own header leaves undefined on purpose (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "hairpin/codec/block_scale.h"
#include "hairpin/codec/step.h"

#define HAIRPIN_AVX512 __attribute__((target("avx512f")))
#define HAIRPIN_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) inline

namespace hairpin::codec {
namespace {

constexpr std::size_t kBlock = 64;
constexpr int kRegisters = 4;

// Pairs of lanes: `other` holds each lane's partner, `upper` marks the second of each pair.
HAIRPIN_AVX512_INLINE __m512 butterfly(__m512 x, __m512 other, __mmask16 upper) {
  return _mm512_mask_sub_ps(_mm512_add_ps(other, x), upper, other, x);
}

HAIRPIN_AVX512_INLINE void butterfly(__m512& a, __m512& b) {
  const __m512 sum = _mm512_add_ps(a, b);
  b = _mm512_sub_ps(a, b);
  a = sum;
}

HAIRPIN_AVX512_INLINE void hadamard(__m512 (&x)[kRegisters]) {
  for (auto& v : x) {
    v = butterfly(v, _mm512_permute_ps(v, 0xb1), 0xaaaa);
    v = butterfly(v, _mm512_permute_ps(v, 0x4e), 0xcccc);
    v = butterfly(v, _mm512_shuffle_f32x4(v, v, 0xb1), 0xf0f0);
    v = butterfly(v, _mm512_shuffle_f32x4(v, v, 0x4e), 0xff00);
  }
  butterfly(x[0], x[1]);
  butterfly(x[2], x[3]);
  butterfly(x[0], x[2]);
  butterfly(x[1], x[3]);
}

HAIRPIN_AVX512_INLINE std::uint32_t largest_magnitude(const __m512 (&x)[kRegisters]) {
  __m512i largest = _mm512_setzero_si512();
  for (const auto& v : x) {
    const __m512i bits = _mm512_and_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    largest = _mm512_max_epu32(largest, bits);
  }
  return _mm512_reduce_max_epu32(largest);
}

HAIRPIN_AVX512_INLINE void store_bytes(std::byte* out, __m512i lanes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(lanes));
}

// Conversion turns a NaN, and infinity times 0, into INT_MIN, whose lowest byte is 0.
template <int kBits>
HAIRPIN_AVX512 void encode(const float* x, std::byte* out, std::size_t count) {
  constexpr float kLevels = kBits == 8 ? kInt8Levels : kInt4Levels;
  for (; count > 0; --count, x += kBlock, out += 2 + kBlock * kBits / 8) {
    __m512 y[kRegisters];
    for (int i = 0; i < kRegisters; ++i)
      y[i] = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), _mm512_set1_ps(0x1p-6f));
    hadamard(y);
    const auto scale = block_scale(largest_magnitude(y), kLevels);
    std::memcpy(out, &scale.bits, 2);
    __m512i steps[kRegisters];
    for (int i = 0; i < kRegisters; ++i)
      steps[i] = _mm512_cvtps_epi32(_mm512_mul_ps(y[i], _mm512_set1_ps(scale.inverse)));
    if constexpr (kBits == 8) {
      for (int i = 0; i < kRegisters; ++i) store_bytes(out + 2 + 16 * i, steps[i]);
    } else {
      const __m512i nibble = _mm512_set1_epi32(15);
      for (int i = 0; i < 2; ++i)
        store_bytes(out + 2 + 16 * i, _mm512_or_epi32(_mm512_and_epi32(steps[i], nibble),
                                                      _mm512_slli_epi32(steps[i + 2], 4)));
    }
  }
}

HAIRPIN_AVX512_INLINE __m128i load_bytes(const std::byte* in) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
}

template <int kBits>
HAIRPIN_AVX512 void decode(const std::byte* in, float* x, std::size_t count) {
  for (; count > 0; --count, x += kBlock, in += 2 + kBlock * kBits / 8) {
    std::uint16_t scale;
    std::memcpy(&scale, in, 2);
    __m512i steps[kRegisters];
    if constexpr (kBits == 8) {
      for (int i = 0; i < kRegisters; ++i)
        steps[i] = _mm512_cvtepi8_epi32(load_bytes(in + 2 + 16 * i));
    } else {
      for (int i = 0; i < 2; ++i) {
        const __m512i pairs = _mm512_cvtepu8_epi32(load_bytes(in + 2 + 16 * i));
        steps[i] = _mm512_srai_epi32(_mm512_slli_epi32(pairs, 28), 28);
        steps[i + 2] = _mm512_srai_epi32(_mm512_slli_epi32(pairs, 24), 28);
      }
    }
    __m512 y[kRegisters];
    for (int i = 0; i < kRegisters; ++i) y[i] = _mm512_cvtepi32_ps(steps[i]);
    hadamard(y);
    const __m512 factor = _mm512_set1_ps(fp32_from_bf16(scale));
    for (int i = 0; i < kRegisters; ++i) _mm512_storeu_ps(x + 16 * i, _mm512_mul_ps(y[i], factor));
  }
}

}  // namespace

const BlockKernels kAvx512Kernels{"avx512", encode<8>, encode<4>, decode<8>, decode<4>};

}  // namespace hairpin::codec
#endif
