#include "hairpin/codec/short_block_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hairpin/codec/block_scale.h"
#include "hairpin/codec/step.h"

namespace hairpin::codec {
namespace {

BlockScale scale_of(std::span<const float> x, float levels) {
  std::uint32_t largest = 0;
  for (const float value : x) largest = std::max(largest, magnitude_bits(value));
  return block_scale(largest, levels);
}

float read_scale(const std::byte* in) {
  std::uint16_t bits;
  std::memcpy(&bits, in, sizeof bits);
  return fp32_from_bf16(bits);
}

}  // namespace

void encode_short_int8(std::span<const float> x, std::byte* out) {
  const auto scale = scale_of(x, kInt8Levels);
  std::memcpy(out, &scale.bits, 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    out[2 + i] = static_cast<std::byte>(to_steps(x[i], scale));
}

void encode_short_int4(std::span<const float> x, std::byte* out) {
  const auto scale = scale_of(x, kInt4Levels);
  std::memcpy(out, &scale.bits, 2);
  const std::size_t half = (x.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float partner = i + half < x.size() ? x[i + half] : 0.0f;
    out[2 + i] = pair_of_nibbles(to_steps(x[i], scale), to_steps(partner, scale));
  }
}

void decode_short_int8(const std::byte* in, std::span<float> x) {
  const float scale = read_scale(in);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<std::int8_t>(in[2 + i])) * scale;
}

void decode_short_int4(const std::byte* in, std::span<float> x) {
  const float scale = read_scale(in);
  const std::size_t half = (x.size() + 1) / 2;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto step = i < half ? low_nibble(in[2 + i]) : high_nibble(in[2 + i - half]);
    x[i] = static_cast<float>(step) * scale;
  }
}

}  // namespace hairpin::codec
