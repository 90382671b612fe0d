#include "hairpin/codec/bf16_kernels.h"

#include <cstring>

#include "hairpin/base/target_clones.h"
#include "hairpin/codec/bf16.h"

namespace hairpin::codec {

HAIRPIN_CLONES
void encode_bf16(const float* x, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t bits = bf16_from_fp32(x[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

HAIRPIN_CLONES
void decode_bf16(const std::byte* in, float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    x[i] = fp32_from_bf16(bits);
  }
}

}  // namespace hairpin::codec
