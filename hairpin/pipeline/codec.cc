#include "hairpin/pipeline/codec.h"

#include <array>

#include "hairpin/base/check.h"
#include "hairpin/codec/codec.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::pipeline {

Bytes encode(const Tensor& tensor, wire::Codec codec) {
  HAIRPIN_CHECK(tensor.dim() == 2, "a tensor of {} dims has no rows to encode", tensor.dim());
  const Tensor rows = tensor.contiguous();
  const auto columns = static_cast<std::uint32_t>(rows.size(1));
  Bytes payload(codec::encoded_size(codec, static_cast<std::uint32_t>(rows.size(0)), columns));
  codec::encode(codec, fp32_span(rows), columns, payload);
  return payload;
}

Result<Tensor> decode(ByteSpan payload, wire::Codec codec, std::uint32_t rows,
                      std::uint32_t columns) {
  Tensor tensor = empty_fp32(std::array<std::int64_t, 2>{rows, columns});
  HAIRPIN_CHECK_OK(codec::decode(codec, payload, columns, fp32_span(tensor)));
  return tensor;
}

}  // namespace hairpin::pipeline
