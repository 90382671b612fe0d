#include "hairpin/pipeline/codec.h"

#include <array>

#include "hairpin/base/check.h"
#include "hairpin/codec/codec.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::pipeline {

Bytes encode(const Tensor& tensor, wire::Codec codec) { return encode({&tensor, 1}, codec); }

Bytes encode(std::span<const Tensor> shares, wire::Codec codec) {
  std::int64_t rows = 0;
  for (const auto& share : shares) {
    HAIRPIN_CHECK(share.dim() == 2, "a tensor of {} dims has no rows to encode", share.dim());
    HAIRPIN_CHECK(share.size(1) == shares.front().size(1), "rows of {} columns beside rows of {}",
                  share.size(1), shares.front().size(1));
    rows += share.size(0);
  }
  const auto columns = static_cast<std::uint32_t>(shares.front().size(1));
  Bytes payload(codec::encoded_size(codec, static_cast<std::uint32_t>(rows), columns));
  auto rest = std::span(payload);
  for (const auto& share : shares) {
    const Tensor contiguous = share.contiguous();
    const auto size =
        codec::encoded_size(codec, static_cast<std::uint32_t>(share.size(0)), columns);
    codec::encode(codec, fp32_span(contiguous), columns, rest.first(size));
    rest = rest.subspan(size);
  }
  return payload;
}

Result<Tensor> decode(ByteSpan payload, wire::Codec codec, std::uint32_t rows,
                      std::uint32_t columns) {
  Tensor tensor = empty_fp32(std::array<std::int64_t, 2>{rows, columns});
  HAIRPIN_CHECK_OK(codec::decode(codec, payload, columns, fp32_span(tensor)));
  return tensor;
}

}  // namespace hairpin::pipeline
