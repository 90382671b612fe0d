// The element types that weights files and frames may carry, by their safetensors names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hairpin {

// The numbers are on the wire (docs/protocol.md) and never change.
enum class DType : std::uint8_t { f32 = 0, bf16 = 1, f16 = 2, f64 = 3, i64 = 4, i32 = 5, u8 = 6 };

std::size_t dtype_size(DType dtype);                          // bytes per element
std::string_view dtype_name(DType dtype);                     // "F32", "BF16", ...
std::optional<DType> dtype_from_name(std::string_view name);  // the inverse

}  // namespace hairpin
