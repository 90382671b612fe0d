// Learning rate by step: linear warm-up, then a decay.
#pragma once

#include <cstdint>

namespace hairpin::optim {

enum class Decay { cosine, linear, constant };

struct LearningRate {
  double peak = 1e-4;
  double minimum = 0.0;  // reached at `total_steps`, just after the last step
  Decay decay = Decay::cosine;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;

  // For step 0, 1, ...: peak * (step + 1) / warmup_steps while warming up; then with
  // f = (step - warmup_steps) / (total_steps - warmup_steps)
  //   cosine: minimum + (peak - minimum) (1 + cos(pi f)) / 2;  linear: peak - (peak - minimum) f;
  // and from total_steps on `minimum`. A constant rate stays `peak`.
  double at(std::int64_t step) const;
};

}  // namespace hairpin::optim
