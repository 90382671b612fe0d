// What both directions of the codec hold a tensor message to.
#pragma once

#include <array>
#include <cstdint>

#include "hairpin/base/dtype.h"
#include "hairpin/wire/message.h"

namespace hairpin::wire {

inline constexpr std::size_t kMaxRank = 8;  // dims of a weight

inline std::uint64_t codec_bytes_per_element(Codec codec) { return codec == Codec::fp32 ? 4 : 2; }

// Whether `size` bytes are exactly one payload of that shape; no overflow for any shape.
inline bool payload_fits(const std::array<std::uint32_t, 2>& shape, Codec codec,
                         std::uint64_t size) {
  const auto elements = std::uint64_t{shape[0]} * shape[1];
  const auto width = codec_bytes_per_element(codec);
  return size % width == 0 && size / width == elements;
}

// Activations and gradients are floats; nothing integral (token ids, labels) has a message.
inline bool may_cross_link(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

}  // namespace hairpin::wire
