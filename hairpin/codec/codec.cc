#include "hairpin/codec/codec.h"

#include <cstring>
#include <limits>

#include "hairpin/base/check.h"
#include "hairpin/codec/bf16_kernels.h"
#include "hairpin/codec/block_row.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::codec {
namespace {

std::uint32_t rows_of(std::size_t elements, std::uint32_t columns) {
  const std::size_t rows = columns == 0 ? 0 : elements / columns;
  HAIRPIN_CHECK(rows * columns == elements && rows <= std::numeric_limits<std::uint32_t>::max(),
                "{} elements are not rows of {}", elements, columns);
  return static_cast<std::uint32_t>(rows);
}

// memcpy may not be given the null pointer of an empty span.
void copy_bytes(void* to, const void* from, std::size_t size) {
  if (size != 0) std::memcpy(to, from, size);
}

void encode_blocks(wire::Codec codec, std::span<const float> values, std::uint32_t columns,
                   std::byte* out) {
  const auto& kernels = *runnable_kernels().back();
  const auto stride = wire::row_bytes(codec, columns);
  for (; !values.empty(); values = values.subspan(columns), out += stride)
    encode_block_row(kernels, codec, values.first(columns), out);
}

Result<void> decode_blocks(wire::Codec codec, ByteSpan payload, std::uint32_t columns,
                           std::span<float> values) {
  const auto& kernels = *runnable_kernels().back();
  const auto stride = wire::row_bytes(codec, columns);
  for (std::size_t row = 0; !payload.empty(); ++row, payload = payload.subspan(stride)) {
    HAIRPIN_CHECK_OK(check_block_row(codec, payload.first(stride), columns, row));
    decode_block_row(kernels, codec, payload.data(), values.subspan(row * columns, columns));
  }
  return {};
}

}  // namespace

std::uint64_t encoded_size(wire::Codec codec, std::uint32_t rows, std::uint32_t columns) {
  std::uint64_t size;
  HAIRPIN_CHECK(!__builtin_mul_overflow(wire::row_bytes(codec, columns), rows, &size),
                "a {} x {} tensor", rows, columns);
  return size;
}

void encode(wire::Codec codec, std::span<const float> values, std::uint32_t columns,
            std::span<std::byte> payload) {
  const auto size = encoded_size(codec, rows_of(values.size(), columns), columns);
  HAIRPIN_CHECK(payload.size() == size, "{} bytes for a payload of {}", payload.size(), size);
  switch (codec) {
    case wire::Codec::fp32: return copy_bytes(payload.data(), values.data(), size);
    case wire::Codec::bf16: return encode_bf16(values.data(), payload.data(), values.size());
    case wire::Codec::int8:
    case wire::Codec::int4: return encode_blocks(codec, values, columns, payload.data());
  }
}

Result<void> decode(wire::Codec codec, ByteSpan payload, std::uint32_t columns,
                    std::span<float> values) {
  const auto rows = rows_of(values.size(), columns);
  if (!wire::payload_fits({rows, columns}, codec, payload.size()))
    return fail(ErrorKind::peer,
                "the peer's payload of a {} x {} tensor as {} has {} bytes: run the same release "
                "of Hairpin on both sites",
                rows, columns, wire::codec_name(codec), payload.size());
  switch (codec) {
    case wire::Codec::fp32: copy_bytes(values.data(), payload.data(), payload.size()); break;
    case wire::Codec::bf16: decode_bf16(payload.data(), values.data(), values.size()); break;
    case wire::Codec::int8:
    case wire::Codec::int4: return decode_blocks(codec, payload, columns, values);
  }
  return {};
}

}  // namespace hairpin::codec
