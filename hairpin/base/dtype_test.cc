#include "hairpin/base/dtype.h"

#include <gtest/gtest.h>

#include "hairpin/base/check.h"

namespace hairpin {
namespace {

// The wire's numbers, and safetensors' names and sizes.
TEST(DType, NumbersNamesAndSizesAreFixed) {
  const struct {
    int number;
    std::string_view name;
    std::size_t size;
  } rows[] = {{0, "F32", 4}, {1, "BF16", 2}, {2, "F16", 2}, {3, "F64", 8},
              {4, "I64", 8}, {5, "I32", 4},  {6, "U8", 1}};
  for (const auto& row : rows) {
    const auto dtype = static_cast<DType>(row.number);
    EXPECT_EQ(dtype_name(dtype), row.name);
    EXPECT_EQ(dtype_size(dtype), row.size);
    EXPECT_EQ(dtype_from_name(row.name), dtype);
  }
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_THROW(dtype_size(static_cast<DType>(7)), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin
