// Between tensors and the raw little-endian bytes of files and frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hairpin/base/bytes.h"
#include "hairpin/base/dtype.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin {

// Copies `bytes`, elements of type `dtype` (F32, BF16, F16 or F64), into `destination`: contiguous
// fp32 with exactly as many elements. Exact for F32, BF16 and F16.
void copy_from_bytes(Tensor& destination, ByteSpan bytes, DType dtype);

// The elements of contiguous fp32 `source`, rounded to nearest even, as `dtype` (F32, BF16, F16).
Bytes to_bytes(const Tensor& source, DType dtype);

// An uninitialised contiguous fp32 tensor.
Tensor empty_fp32(std::span<const std::int64_t> shape);

// The elements of a contiguous fp32 tensor, in place.
std::span<float> fp32_span(const Tensor& tensor);

}  // namespace hairpin
