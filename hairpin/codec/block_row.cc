#include "hairpin/codec/block_row.h"

#include <cstring>
#include <vector>

#include "hairpin/codec/block_scale.h"
#include "hairpin/codec/short_block_kernels.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::codec {
namespace {

constexpr std::size_t kBlock = wire::kBlockElements;

bool scale_is_legal(std::uint16_t bits) {
  return bits < (kInfinityBits >> 16) || bits == kNanScale;
}

}  // namespace

std::span<const BlockKernels* const> runnable_kernels() {
  static const std::vector<const BlockKernels*> runnable = [] {
    std::vector<const BlockKernels*> kernels{&kScalarKernels};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) kernels.push_back(&kAvx2Kernels);
    if (__builtin_cpu_supports("avx512f")) kernels.push_back(&kAvx512Kernels);
#endif
    return kernels;
  }();
  return runnable;
}

void encode_block_row(const BlockKernels& kernels, wire::Codec codec, std::span<const float> x,
                      std::byte* out) {
  const bool int8 = codec == wire::Codec::int8;
  const auto full = x.size() / kBlock;
  const auto rest = x.subspan(full * kBlock);
  (int8 ? kernels.encode_int8 : kernels.encode_int4)(x.data(), out, full);
  if (rest.empty()) return;
  (int8 ? encode_short_int8 : encode_short_int4)(rest,
                                                 out + full * wire::block_bytes(codec, kBlock));
}

void decode_block_row(const BlockKernels& kernels, wire::Codec codec, const std::byte* in,
                      std::span<float> x) {
  const bool int8 = codec == wire::Codec::int8;
  const auto full = x.size() / kBlock;
  const auto rest = x.subspan(full * kBlock);
  (int8 ? kernels.decode_int8 : kernels.decode_int4)(in, x.data(), full);
  if (rest.empty()) return;
  (int8 ? decode_short_int8 : decode_short_int4)(in + full * wire::block_bytes(codec, kBlock),
                                                 rest);
}

Result<void> check_block_row(wire::Codec codec, ByteSpan in, std::size_t columns, std::size_t row) {
  const std::size_t stride = wire::block_bytes(codec, kBlock);
  for (std::size_t begin = 0; begin < in.size(); begin += stride) {
    std::uint16_t scale;
    std::memcpy(&scale, in.data() + begin, sizeof scale);
    if (!scale_is_legal(scale))
      return fail(ErrorKind::peer,
                  "block {} of row {} of the peer's {} payload has the scale {:#06x}, which no "
                  "encoder writes: run the same release of Hairpin on both sites",
                  begin / stride, row, wire::codec_name(codec), scale);
  }
  if (codec == wire::Codec::int4 && columns % 2 == 1 && std::to_integer<int>(in.back()) >> 4 != 0)
    return fail(ErrorKind::peer,
                "row {} of the peer's int4 payload ends in the byte {:#04x}, whose upper half no "
                "element owns: run the same release of Hairpin on both sites",
                row, std::to_integer<int>(in.back()));
  return {};
}

}  // namespace hairpin::codec
