// Any bytes as a payload: refused, or decoded; what was decoded encodes to a payload that is kept
// from then on. Any bytes as floats: every width of vectors encodes them to the same payload, and
// none of it hides that a block wasn't finite.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hairpin/codec/block_row.h"
#include "hairpin/codec/codec.h"
#include "hairpin/wire/tensor_size.h"

namespace {

using namespace hairpin;
using Floats = std::vector<float>;

void require(bool condition) {
  if (!condition) std::abort();
}

Bytes encoded(wire::Codec codec, const Floats& row) {
  const auto columns = static_cast<std::uint32_t>(row.size());
  Bytes payload(wire::row_bytes(codec, columns));
  codec::encode(codec, row, columns, payload);
  return payload;
}

Floats decoded(wire::Codec codec, const Bytes& payload, std::size_t columns) {
  Floats row(columns);
  require(codec::decode(codec, payload, static_cast<std::uint32_t>(columns), row).has_value());
  return row;
}

// Near the largest float an error may end in infinity, so it is left out.
bool ordinary(float x) { return std::abs(x) < 0x1p120f; }

void as_payload(wire::Codec codec, std::uint32_t columns, ByteSpan payload) {
  const auto stride = wire::row_bytes(codec, columns);
  Floats values(payload.size() / stride * columns);
  if (!codec::decode(codec, payload, columns, values)) return;
  if (codec < wire::Codec::int8) return;
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    const Floats row(values.begin() + static_cast<std::ptrdiff_t>(begin),
                     values.begin() + static_cast<std::ptrdiff_t>(begin + columns));
    if (!std::ranges::all_of(row, ordinary)) continue;
    const Bytes once = encoded(codec, row);
    require(encoded(codec, decoded(codec, once, columns)) == once);
  }
}

void as_floats(wire::Codec codec, ByteSpan bytes) {
  Floats row(bytes.size() / 4);
  if (row.empty() || codec < wire::Codec::int8) return;
  std::memcpy(row.data(), bytes.data(), row.size() * 4);
  const Bytes payload = encoded(codec, row);
  Bytes twin(payload.size());
  for (const auto* kernels : codec::runnable_kernels()) {
    codec::encode_block_row(*kernels, codec, row, twin.data());
    require(twin == payload);
  }
  const Floats back = decoded(codec, payload, row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!std::isfinite(row[i])) require(std::isnan(back[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto codec = static_cast<wire::Codec>(data[0] % 4);
  const std::uint32_t columns = data[1] + 1u;
  as_payload(codec, columns, bytes.subspan(2));
  as_floats(codec, bytes.subspan(2));
  return 0;
}
