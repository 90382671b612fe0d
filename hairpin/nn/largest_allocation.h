// For tests of what must never exist at once: the largest tensor that LibTorch allocates.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace hairpin::nn {

// Watches the calling thread's CPU allocations for the length of a scope.
class LargestAllocation {
 public:
  std::int64_t elements() const { return reporter_->largest / 4; }  // of fp32

 private:
  struct Reporter : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t,
                           c10::Device) override {
      largest = std::max(largest, bytes);  // negative when memory is freed
    }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t largest = 0;
  };
  const std::shared_ptr<Reporter> reporter_ = std::make_shared<Reporter>();
  const c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, reporter_};
};

}  // namespace hairpin::nn
