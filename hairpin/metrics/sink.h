// Where step records go. Sinks are driven by one thread.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/metrics/step_record.h"

namespace hairpin::metrics {

class Sink {
 public:
  virtual ~Sink() = default;

  // Records arrive in the order of their steps.
  virtual Result<void> write(const StepRecord& record) = 0;

  // No record follows. Called once, also when the run ends early.
  virtual Result<void> finish() = 0;
};

}  // namespace hairpin::metrics
