// What both directions of the codec hold a tensor message to: the size of its payload, which shape
// and codec decide. docs/protocol.md, "Payloads", has the bytes.
#pragma once

#include <array>
#include <cstdint>

#include "hairpin/base/dtype.h"
#include "hairpin/wire/fragment.h"
#include "hairpin/wire/frame.h"
#include "hairpin/wire/message.h"

namespace hairpin::wire {

inline constexpr std::size_t kMaxRank = 8;  // dims of a weight

// Of a tensor's message beside its payload: the frame's header, its own, and that of the one
// fragment that a small one is cut into. TLS and TCP are not counted.
inline constexpr std::uint64_t kTensorFrameBytes = kHeaderBytes + 24 + kFragmentHeaderBytes;

// int8 and int4 cut each row into blocks of so many elements; a row's last block may be shorter.
inline constexpr std::uint32_t kBlockElements = 64;
inline constexpr std::uint32_t kBlockScaleBytes = 2;

// A block of 1 to kBlockElements elements, its scale included. `codec` is int8 or int4.
constexpr std::uint32_t block_bytes(Codec codec, std::uint32_t elements) {
  return kBlockScaleBytes + (codec == Codec::int8 ? elements : (elements + 1) / 2);
}

// One row of `columns` elements; less than 2^35 for any number of them.
constexpr std::uint64_t row_bytes(Codec codec, std::uint32_t columns) {
  switch (codec) {
    case Codec::fp32: return std::uint64_t{columns} * 4;
    case Codec::bf16: return std::uint64_t{columns} * 2;
    case Codec::int8:
    case Codec::int4: break;
  }
  const std::uint32_t full = columns / kBlockElements;
  const std::uint32_t rest = columns % kBlockElements;
  return std::uint64_t{full} * block_bytes(codec, kBlockElements) +
         (rest != 0 ? block_bytes(codec, rest) : 0);
}

// Whether `size` bytes are exactly one payload of that shape; no overflow for any shape.
constexpr bool payload_fits(const std::array<std::uint32_t, 2>& shape, Codec codec,
                            std::uint64_t size) {
  const auto row = row_bytes(codec, shape[1]);
  if (row == 0) return size == 0;
  return size % row == 0 && size / row == shape[0];
}

// Activations and gradients are floats; nothing integral (token ids, labels) has a message.
inline bool may_cross_link(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

}  // namespace hairpin::wire
