#include "hairpin/pipeline/codec.h"

#include <array>

#include "hairpin/base/check.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::pipeline {
namespace {

DType stored_as(wire::Codec codec) {
  switch (codec) {
    case wire::Codec::fp32: return DType::f32;
    case wire::Codec::bf16: return DType::bf16;
  }
  HAIRPIN_CHECK(false, "codec {} has no encoding", static_cast<int>(codec));
}

}  // namespace

Bytes encode(const Tensor& tensor, wire::Codec codec) {
  return to_bytes(tensor.contiguous(), stored_as(codec));
}

Tensor decode(ByteSpan payload, wire::Codec codec, std::int64_t rows, std::int64_t columns) {
  Tensor tensor = empty_fp32(std::array{rows, columns});
  copy_from_bytes(tensor, payload, stored_as(codec));
  return tensor;
}

}  // namespace hairpin::pipeline
