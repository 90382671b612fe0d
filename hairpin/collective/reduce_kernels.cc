#include "hairpin/collective/reduce_kernels.h"

#include <algorithm>
#include <cstring>

namespace hairpin::collective {
namespace {

// Elements summed at a time: in the first-level cache, so that each buffer is read once.
constexpr std::int64_t kBlock = 1024;

template <class T>
void add(T* sum, const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += x[i];
}

template <class T>
void take_larger(T* largest, const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    largest[i] = x[i] > largest[i] || x[i] != x[i] ? x[i] : largest[i];
}

template <class T>
void reduce(T* out, std::span<const void* const> sources, std::int64_t count, Reduction reduction) {
  T block[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const auto n = std::min(kBlock, count - begin);
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    std::memcpy(block, static_cast<const T*>(sources[0]) + begin, bytes);
    for (const auto* source : sources.subspan(1)) {
      const T* x = static_cast<const T*>(source) + begin;
      reduction == Reduction::sum ? add(block, x, n) : take_larger(block, x, n);
    }
    std::memcpy(out + begin, block, bytes);
  }
}

}  // namespace

void reduce_in_order(float* out, std::span<const void* const> sources, std::int64_t count,
                     Reduction reduction) {
  reduce(out, sources, count, reduction);
}

void reduce_in_order(double* out, std::span<const void* const> sources, std::int64_t count,
                     Reduction reduction) {
  reduce(out, sources, count, reduction);
}

}  // namespace hairpin::collective
