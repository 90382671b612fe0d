// Rows of bfloat16 as bytes, and back. An element's bits don't depend on its neighbours.
#pragma once

#include <cstddef>

namespace hairpin::codec {

// `out` has 2 * count bytes, in any alignment.
void encode_bf16(const float* x, std::byte* out, std::size_t count);
void decode_bf16(const std::byte* in, float* x, std::size_t count);

}  // namespace hairpin::codec
