// The optimizers' element-wise loops over plain fp32 arrays. An element gets the same bits wherever
// it lies in an array.
#pragma once

#include <array>
#include <cstdint>

#include "hairpin/mesh/share.h"

namespace hairpin::optim {

// AdamW (Loshchilov & Hutter 2019), as torch.optim.AdamW orders its operations:
//   p *= decay;  m += (g - m)(1 - beta1);  v = beta2 v + (1 - beta2) g^2;
//   p -= step_size * m / (sqrt(v) / root_correction2 + epsilon)
struct AdamWScalars {
  float gradient_scale;  // of clipping
  float decay;           // 1 - learning_rate * weight_decay
  float one_minus_beta1;
  float beta2, one_minus_beta2;
  float step_size;         // learning_rate / (1 - beta1^t)
  float root_correction2;  // sqrt(1 - beta2^t)
  float epsilon;
};
void adamw(float* p, float* m, float* v, const float* g, std::int64_t n, const AdamWScalars& s);

// SGD with momentum (torch.optim.SGD): g = scale g + weight_decay p; m = momentum m + g, from zero;
// p -= learning_rate m. Without momentum `m` is null.
struct SgdScalars {
  float gradient_scale;
  float weight_decay;
  float momentum;
  float learning_rate;
};
void sgd(float* p, float* m, const float* g, std::int64_t n, const SgdScalars& s);

// Sums in double over a run of an array, in one fixed grouping: element i of the array counts in
// lane i % 16, lanes are added in their order. So the grouping depends on where an element lies,
// not on the runs in which the array is walked. `lanes` begins as all zero.
using Lanes = std::array<double, 16>;
void add_absolutes(Lanes& lanes, const float* array, mesh::Range run);
void add_squares(Lanes& lanes, const float* array, mesh::Range run);
double sum_of(const Lanes& lanes);

// The largest |x| of a run, 0 of an empty one. NaN wins.
float max_absolute(const float* array, mesh::Range run);

}  // namespace hairpin::optim
