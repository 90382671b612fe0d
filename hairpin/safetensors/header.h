// The header of a safetensors file (https://github.com/huggingface/safetensors, "Format"):
//   u64 little-endian N | N bytes of JSON, padded with spaces | the tensors' bytes, without gaps
// Bytes in, values out; no file is touched here, so this is what the fuzzer drives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/bytes.h"
#include "hairpin/base/dtype.h"
#include "hairpin/base/result.h"

namespace hairpin::safetensors {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty: a scalar

  bool operator==(const TensorInfo&) const = default;
};

// Bytes of a tensor's data; nothing when the product overflows or an extent is negative.
std::optional<std::uint64_t> byte_size(const TensorInfo& tensor);

// A tensor and where its bytes lie, counted from the start of the data.
struct Entry {
  TensorInfo tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

using Metadata = std::map<std::string, std::string>;

struct Header {
  std::vector<Entry> entries;    // in the order of their bytes
  Metadata metadata;             // "__metadata__"
  std::uint64_t data_begin = 0;  // offset of the data in the file
};

// The header of the file whose bytes are `file` (all of them: the tensors must fill it exactly).
// Refused, naming `where` and the tensor: a header longer than the file or the limit, JSON that is
// not a safetensors header, an unknown dtype, a bad shape, a size that isn't shape times dtype,
// tensors that overlap, leave gaps or reach out of the file.
Result<Header> parse_header(ByteSpan file, std::string_view where);

// The bytes before the data of a file that holds `tensors` in that order. Padded so that the data
// starts at a multiple of 8. Names are unique and sizes don't overflow (checked).
Bytes encode_header(const std::vector<TensorInfo>& tensors, const Metadata& metadata);

}  // namespace hairpin::safetensors
