// Counts the bytes of tensors, for each rank and by what they are for.
//
// LibTorch's CPU allocator is wrapped: a tensor's storage is charged to the meter and the use that
// the allocating thread has at that moment, and taken off again by whichever thread frees it. A
// view costs nothing, a storage that grows is charged anew. Counted are the bytes asked for,
// touched or not; not counted are storages of threads without a meter and memory that LibTorch
// did not allocate (mapped files).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace hairpin {

enum class MemoryUse { weights, gradients, optimizer, activations, link };
inline constexpr std::array kMemoryUses{MemoryUse::weights, MemoryUse::gradients,
                                        MemoryUse::optimizer, MemoryUse::activations,
                                        MemoryUse::link};
std::string_view memory_use_name(MemoryUse use);  // "weights"

// Bytes by use.
struct MemoryBytes {
  std::array<std::int64_t, kMemoryUses.size()> by_use{};

  std::int64_t& operator[](MemoryUse use) { return by_use[static_cast<std::size_t>(use)]; }
  std::int64_t operator[](MemoryUse use) const { return by_use[static_cast<std::size_t>(use)]; }
  std::int64_t total() const;
  bool operator==(const MemoryBytes&) const = default;
};

// Puts the counting allocator in place, once for the process; later calls do nothing. LibTorch
// reads its allocator without a lock, so call this before a second thread makes tensors. The first
// MemoryMeter calls it, too. Data stays aligned to 64 bytes; each storage costs 64 bytes more.
void install_memory_meter();

// The counters of one rank. Thread-safe. Tensors may outlive it.
class MemoryMeter {
 public:
  struct Largest {
    std::int64_t bytes = 0;
    MemoryUse use = MemoryUse::activations;  // of no meaning when there was no allocation
  };

  MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  MemoryBytes current() const;
  // What `current` was when its total was highest (the first time it was), since the beginning or
  // `reset_peak`. The peak is its total.
  MemoryBytes at_peak() const;
  // The highest of each use by itself, at whatever moment; their sum may exceed the peak.
  MemoryBytes peak_of_each() const;
  void reset_peak();  // peaks := current

  // The largest single storage since the beginning or `reset_largest`.
  Largest largest() const;
  void reset_largest();

  class Counters;

 private:
  friend class CountingAllocator;
  std::shared_ptr<Counters> counters_;  // shared with every storage that is charged to it
};

// What the calling thread's allocations are charged to; a worker thread that allocates on a rank's
// behalf is handed the rank's meter and opens a scope of its own. Null: they are not counted.
MemoryMeter* current_memory_meter();

// Charges what the calling thread allocates during the scope. Scopes nest: the end of one puts the
// state before it back. The meter must outlive the scope.
class MeterScope {
 public:
  MeterScope(MemoryMeter* meter, MemoryUse use);
  explicit MeterScope(MemoryUse use);  // the thread's meter stays, if it has one
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;
  ~MeterScope();

 private:
  MemoryMeter* const meter_before_;
  const MemoryUse use_before_;
};

}  // namespace hairpin
