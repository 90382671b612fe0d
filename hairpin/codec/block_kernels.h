// The arithmetic of int8 and int4 (docs/protocol.md, "Payloads"): full blocks of 64 elements, each
// turned by a Hadamard transform that spreads an outlier over its block, scaled and rounded.
//
// There is one set of kernels for each width of vectors. All sets give equal bits: the order of
// additions is the format's, and nothing is contracted.
#pragma once

#include <cstddef>
#include <string_view>

namespace hairpin::codec {

// Each works on `count` blocks: 64 floats beside 66 bytes (int8) or 34 (int4), in any alignment.
// Encoding takes any floats, decoding any bytes.
struct BlockKernels {
  using Encode = void (*)(const float* x, std::byte* out, std::size_t count);
  using Decode = void (*)(const std::byte* in, float* x, std::size_t count);

  std::string_view name;
  Encode encode_int8;
  Encode encode_int4;
  Decode decode_int8;
  Decode decode_int4;
};

extern const BlockKernels kScalarKernels;
extern const BlockKernels kAvx2Kernels;    // only where __x86_64__
extern const BlockKernels kAvx512Kernels;  // likewise

}  // namespace hairpin::codec
