// Activations and gradients as the payload of a tensor message, and back. docs/protocol.md,
// "Payloads", has every byte; docs/adr/0004 says why int8 and int4 are what they are.
//
// All functions are thread-safe. An element's bytes depend on its block alone (fp32 and bf16: on
// itself), so rows may be encoded and decoded in any pieces, by machines of any vector width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::codec {

// Bytes of the payload of rows x columns elements. No tensor in memory is too large for it.
std::uint64_t encoded_size(wire::Codec codec, std::uint32_t rows, std::uint32_t columns);

// `values`: whole rows of `columns` elements, one after the other; `payload` has encoded_size
// bytes.
//
// fp32 is exact, bf16 rounded to nearest even. int8 and int4: over a full block the error is at
// most 32 scales long (its root mean square 4), in each element of a short block at most half a
// scale. A NaN stays one in every codec; in int8 and int4 a NaN or infinity makes NaNs of its whole
// block.
void encode(wire::Codec codec, std::span<const float> values, std::uint32_t columns,
            std::span<std::byte> payload);

// Fills `values`, whole rows of `columns`. Errors (ErrorKind::peer): `payload` has another size, or
// holds what no encoder writes; `values` is then unspecified. Never reads or writes past either.
Result<void> decode(wire::Codec codec, ByteSpan payload, std::uint32_t columns,
                    std::span<float> values);

}  // namespace hairpin::codec
