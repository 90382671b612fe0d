// A block in eight registers of 8 lanes.
#include "hairpin/codec/block_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "hairpin/codec/block_scale.h"
#include "hairpin/codec/step.h"

#define HAIRPIN_AVX2 __attribute__((target("avx2")))
#define HAIRPIN_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace hairpin::codec {
namespace {

constexpr std::size_t kBlock = 64;
constexpr int kRegisters = 8;

// Pairs of lanes: `other` holds each lane's partner, kUpper marks the second of each pair.
template <int kUpper>
HAIRPIN_AVX2_INLINE __m256 butterfly(__m256 x, __m256 other) {
  return _mm256_blend_ps(_mm256_add_ps(other, x), _mm256_sub_ps(other, x), kUpper);
}

HAIRPIN_AVX2_INLINE void butterfly(__m256& a, __m256& b) {
  const __m256 sum = _mm256_add_ps(a, b);
  b = _mm256_sub_ps(a, b);
  a = sum;
}

HAIRPIN_AVX2_INLINE void hadamard(__m256 (&x)[kRegisters]) {
  for (auto& v : x) {
    v = butterfly<0xaa>(v, _mm256_permute_ps(v, 0xb1));
    v = butterfly<0xcc>(v, _mm256_permute_ps(v, 0x4e));
    v = butterfly<0xf0>(v, _mm256_permute2f128_ps(v, v, 1));
  }
  for (int i : {0, 2, 4, 6}) butterfly(x[i], x[i + 1]);
  for (int i : {0, 1, 4, 5}) butterfly(x[i], x[i + 2]);
  for (int i : {0, 1, 2, 3}) butterfly(x[i], x[i + 4]);
}

HAIRPIN_AVX2_INLINE std::uint32_t largest_magnitude(const __m256 (&x)[kRegisters]) {
  __m256i most = _mm256_setzero_si256();
  for (const auto& v : x) {
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    most = _mm256_max_epu32(most, bits);
  }
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}

// The lowest byte of each of 32 lanes. Packing interleaves the registers' halves: the last
// permutation undoes it.
HAIRPIN_AVX2_INLINE void store_bytes(std::byte* out, const __m256i* lanes) {
  const __m256i byte = _mm256_set1_epi32(255);
  const __m256i low =
      _mm256_packus_epi32(_mm256_and_si256(lanes[0], byte), _mm256_and_si256(lanes[1], byte));
  const __m256i high =
      _mm256_packus_epi32(_mm256_and_si256(lanes[2], byte), _mm256_and_si256(lanes[3], byte));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
}

// Conversion turns a NaN, and infinity times 0, into INT_MIN, whose lowest byte is 0.
template <int kBits>
HAIRPIN_AVX2 void encode(const float* x, std::byte* out, std::size_t count) {
  constexpr float kLevels = kBits == 8 ? kInt8Levels : kInt4Levels;
  for (; count > 0; --count, x += kBlock, out += 2 + kBlock * kBits / 8) {
    __m256 y[kRegisters];
    for (int i = 0; i < kRegisters; ++i)
      y[i] = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(0x1p-6f));
    hadamard(y);
    const auto scale = block_scale(largest_magnitude(y), kLevels);
    std::memcpy(out, &scale.bits, 2);
    __m256i steps[kRegisters];
    for (int i = 0; i < kRegisters; ++i)
      steps[i] = _mm256_cvtps_epi32(_mm256_mul_ps(y[i], _mm256_set1_ps(scale.inverse)));
    if constexpr (kBits == 8) {
      store_bytes(out + 2, steps);
      store_bytes(out + 34, steps + 4);
    } else {
      for (int i = 0; i < 4; ++i)
        steps[i] = _mm256_or_si256(_mm256_and_si256(steps[i], _mm256_set1_epi32(15)),
                                   _mm256_slli_epi32(steps[i + 4], 4));
      store_bytes(out + 2, steps);
    }
  }
}

HAIRPIN_AVX2_INLINE __m128i load_bytes(const std::byte* in) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
}

template <int kBits>
HAIRPIN_AVX2 void decode(const std::byte* in, float* x, std::size_t count) {
  for (; count > 0; --count, x += kBlock, in += 2 + kBlock * kBits / 8) {
    std::uint16_t scale;
    std::memcpy(&scale, in, 2);
    __m256i steps[kRegisters];
    if constexpr (kBits == 8) {
      for (int i = 0; i < kRegisters; ++i)
        steps[i] = _mm256_cvtepi8_epi32(load_bytes(in + 2 + 8 * i));
    } else {
      for (int i = 0; i < 4; ++i) {
        const __m256i pairs = _mm256_cvtepu8_epi32(load_bytes(in + 2 + 8 * i));
        steps[i] = _mm256_srai_epi32(_mm256_slli_epi32(pairs, 28), 28);
        steps[i + 4] = _mm256_srai_epi32(_mm256_slli_epi32(pairs, 24), 28);
      }
    }
    __m256 y[kRegisters];
    for (int i = 0; i < kRegisters; ++i) y[i] = _mm256_cvtepi32_ps(steps[i]);
    hadamard(y);
    const __m256 factor = _mm256_set1_ps(fp32_from_bf16(scale));
    for (int i = 0; i < kRegisters; ++i) _mm256_storeu_ps(x + 8 * i, _mm256_mul_ps(y[i], factor));
  }
}

}  // namespace

const BlockKernels kAvx2Kernels{"avx2", encode<8>, encode<4>, decode<8>, decode<4>};

}  // namespace hairpin::codec
#endif
