#include "hairpin/optim/learning_rate.h"

#include <cmath>
#include <numbers>

namespace hairpin::optim {

double LearningRate::at(std::int64_t step) const {
  if (step < warmup_steps)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (decay == Decay::constant) return peak;
  if (step >= total_steps) return minimum;
  const auto decaying = static_cast<double>(total_steps - warmup_steps);
  const double f = static_cast<double>(step - warmup_steps) / decaying;
  if (decay == Decay::linear) return peak - (peak - minimum) * f;
  return minimum + (peak - minimum) * (1.0 + std::cos(std::numbers::pi * f)) / 2.0;
}

}  // namespace hairpin::optim
