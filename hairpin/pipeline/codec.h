// Activations and gradients as a codec's payload, and back.
#pragma once

#include <cstdint>

#include "hairpin/base/bytes.h"
#include "hairpin/tensor/tensor.h"
#include "hairpin/wire/message.h"

namespace hairpin::pipeline {

// fp32: 4 bytes an element, exact. bf16: 2 bytes, rounded to nearest even.
Bytes encode(const Tensor& tensor, wire::Codec codec);

// The inverse, [rows, columns] in fp32. `payload` has the size that wire/frame.h has checked.
Tensor decode(ByteSpan payload, wire::Codec codec, std::int64_t rows, std::int64_t columns);

}  // namespace hairpin::pipeline
