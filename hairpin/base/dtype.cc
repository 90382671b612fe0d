#include "hairpin/base/dtype.h"

#include <array>

#include "hairpin/base/check.h"

namespace hairpin {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array kRows = {Row{DType::f32, "F32", 4}, Row{DType::bf16, "BF16", 2},
                              Row{DType::f16, "F16", 2}, Row{DType::f64, "F64", 8},
                              Row{DType::i64, "I64", 8}, Row{DType::i32, "I32", 4},
                              Row{DType::u8, "U8", 1}};

const Row& row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  HAIRPIN_CHECK(index < kRows.size(), "no dtype has the number {}", index);
  return kRows[index];
}

}  // namespace

std::size_t dtype_size(DType dtype) { return row(dtype).size; }
std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& candidate : kRows)
    if (candidate.name == name) return candidate.dtype;
  return std::nullopt;
}

}  // namespace hairpin
