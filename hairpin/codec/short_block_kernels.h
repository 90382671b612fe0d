// A row's last block when it has fewer than 64 elements: scaled and rounded as it is, without the
// transform. Hidden sizes of real models are multiples of 64, so these are plain loops.
#pragma once

#include <cstddef>
#include <span>

namespace hairpin::codec {

// `out` and `in` have wire::block_bytes bytes.
void encode_short_int8(std::span<const float> x, std::byte* out);
void encode_short_int4(std::span<const float> x, std::byte* out);
void decode_short_int8(const std::byte* in, std::span<float> x);
void decode_short_int4(const std::byte* in, std::span<float> x);

}  // namespace hairpin::codec
