#include <fmt/ranges.h>

#include "hairpin/arch/architecture.h"
#include "hairpin/base/check.h"

namespace hairpin::arch {

Result<std::vector<SegmentRange>> place(const std::vector<std::int64_t>& layers,
                                        std::int64_t num_hidden_layers) {
  HAIRPIN_CHECK(num_hidden_layers >= 1, "a model of {} layers", num_hidden_layers);
  const auto list = fmt::format("layers = [{}]", fmt::join(layers, ", "));
  if (layers.empty())
    return bad_input("{}: names no stage; give {} decoder layers to at least one", list,
                     num_hidden_layers);
  std::int64_t sum = 0;
  for (const auto count : layers) {
    if (count < 0)
      return bad_input("{}: {} is negative; the model's {} decoder layers are to be shared out",
                       list, count, num_hidden_layers);
    if (__builtin_add_overflow(sum, count, &sum))
      return bad_input("{}: the sum is beyond 64 bits, but the model has {} decoder layers", list,
                       num_hidden_layers);
  }
  if (sum != num_hidden_layers)
    return bad_input("{}: the sum is {}, but the model has {} decoder layers; make them equal",
                     list, sum, num_hidden_layers);
  // Segment 0 is the embedding, segment 1 + i decoder layer i, the last one the head.
  std::vector<SegmentRange> ranges;
  std::int64_t next = 1;
  for (const auto count : layers) {
    ranges.push_back({next, next + count});
    next += count;
  }
  ranges.front().begin = 0;
  ranges.back().end = num_hidden_layers + 2;
  return ranges;
}

}  // namespace hairpin::arch
