// One row of int8 or int4: its full blocks by the vectorised kernels, then the short one.
#pragma once

#include <cstddef>
#include <span>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/codec/block_kernels.h"
#include "hairpin/wire/message.h"

namespace hairpin::codec {

// Those that this machine can run, the widest last. Thread-safe.
std::span<const BlockKernels* const> runnable_kernels();

// `out` has wire::row_bytes of as many columns as `x` has elements.
void encode_block_row(const BlockKernels& kernels, wire::Codec codec, std::span<const float> x,
                      std::byte* out);

// The same the other way. Any bytes decode; check_block_row says which ones an encoder writes.
void decode_block_row(const BlockKernels& kernels, wire::Codec codec, const std::byte* in,
                      std::span<float> x);

// Refuses (ErrorKind::peer) a scale that is negative, infinite or another NaN than 0x7fc0, and a
// spare nibble that is not 0. `row` is for the message.
Result<void> check_block_row(wire::Codec codec, ByteSpan in, std::size_t columns, std::size_t row);

}  // namespace hairpin::codec
