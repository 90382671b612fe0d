// Tensors as a codec's payload, and back: hairpin/codec behind LibTorch's tensors.
#pragma once

#include <cstdint>
#include <span>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/tensor/tensor.h"
#include "hairpin/wire/message.h"

namespace hairpin::pipeline {

// `tensor` is [rows, columns] in fp32; codec/codec.h says what each codec keeps of it.
Bytes encode(const Tensor& tensor, wire::Codec codec);
// The same of the tensor whose rows are those of `shares`, one after the other; all have as many
// columns, and there is one at least.
Bytes encode(std::span<const Tensor> shares, wire::Codec codec);

// The inverse, [rows, columns] in fp32. Errors (ErrorKind::peer): a payload of another size, or one
// that no encoder writes.
Result<Tensor> decode(ByteSpan payload, wire::Codec codec, std::uint32_t rows,
                      std::uint32_t columns);

}  // namespace hairpin::pipeline
