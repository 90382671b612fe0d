#include "hairpin/tensor/convert.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "hairpin/base/check.h"

namespace hairpin {
namespace {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return at::kFloat;
    case DType::bf16: return at::kBFloat16;
    case DType::f16: return at::kHalf;
    case DType::f64: return at::kDouble;
    default: break;
  }
  HAIRPIN_CHECK(false, "{} is not a floating dtype", dtype_name(dtype));
}

}  // namespace

void copy_from_bytes(Tensor& destination, ByteSpan bytes, DType dtype) {
  HAIRPIN_CHECK(bytes.size() == static_cast<std::size_t>(destination.numel()) * dtype_size(dtype),
                "{} bytes of {} for {} elements", bytes.size(), dtype_name(dtype),
                destination.numel());
  // from_blob wants a mutable pointer; copy_ only reads through it.
  const Tensor source =
      at::from_blob(const_cast<std::byte*>(bytes.data()), destination.sizes(), scalar_type(dtype));
  destination.copy_(source);
}

Bytes to_bytes(const Tensor& source, DType dtype) {
  HAIRPIN_CHECK(source.is_contiguous() && source.scalar_type() == at::kFloat,
                "to_bytes wants contiguous fp32");
  Bytes bytes(static_cast<std::size_t>(source.numel()) * dtype_size(dtype));
  at::from_blob(bytes.data(), source.sizes(), scalar_type(dtype)).copy_(source);
  return bytes;
}

Tensor empty_fp32(std::span<const std::int64_t> shape) {
  return at::empty(at::IntArrayRef(shape.data(), shape.size()), at::kFloat);
}

std::span<float> fp32_span(const Tensor& tensor) {
  HAIRPIN_CHECK(tensor.is_contiguous() && tensor.scalar_type() == at::kFloat,
                "fp32_span wants contiguous fp32");
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace hairpin
