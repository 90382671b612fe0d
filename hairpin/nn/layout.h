// How a microbatch's tokens are made of packed segments. Tokens of all segments lie end to end in
// one dimension T; attention is causal and never crosses from one segment to another.
#pragma once

#include <cstdint>
#include <vector>

namespace hairpin::nn {

struct PackedSegment {
  std::int64_t begin = 0;           // index of its first token
  std::int64_t length = 0;          // tokens
  std::int64_t first_position = 0;  // position id of its first token
};

struct PackedLayout {
  std::vector<PackedSegment> segments;
  std::int64_t tokens = 0;

  void append(std::int64_t length, std::int64_t first_position = 0) {
    segments.push_back({tokens, length, first_position});
    tokens += length;
  }
};

}  // namespace hairpin::nn
