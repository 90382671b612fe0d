#include "hairpin/tensor/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "hairpin/base/check.h"

namespace hairpin {

class MemoryMeter::Counters {
 public:
  struct Numbers {
    MemoryBytes current, at_peak, peak_of_each;
    Largest largest;
  };

  void add(std::int64_t bytes, MemoryUse use) {
    const std::lock_guard lock(mutex_);
    auto& current = numbers_.current[use];
    current += bytes;
    total_ += bytes;
    numbers_.peak_of_each[use] = std::max(numbers_.peak_of_each[use], current);
    if (total_ > peak_) {
      peak_ = total_;
      numbers_.at_peak = numbers_.current;
    }
    if (bytes > numbers_.largest.bytes) numbers_.largest = {bytes, use};
  }

  void subtract(std::int64_t bytes, MemoryUse use) {
    const std::lock_guard lock(mutex_);
    numbers_.current[use] -= bytes;
    total_ -= bytes;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    numbers_.at_peak = numbers_.peak_of_each = numbers_.current;
    peak_ = total_;
  }

  void reset_largest() {
    const std::lock_guard lock(mutex_);
    numbers_.largest = {};
  }

  Numbers numbers() const {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

 private:
  mutable std::mutex mutex_;
  Numbers numbers_;
  std::int64_t total_ = 0, peak_ = 0;  // of numbers_.current and numbers_.at_peak
};

namespace {

struct Charge {
  MemoryMeter* meter = nullptr;
  MemoryUse use = MemoryUse::activations;
};

thread_local Charge thread_charge;

// Stands before the data of every storage. The data pointer is then the only thing a deleter needs,
// which LibTorch's raw_allocate and raw_deallocate rely on.
struct Header {
  std::shared_ptr<MemoryMeter::Counters> counters;  // null: not counted
  std::int64_t bytes = 0;
  MemoryUse use = MemoryUse::activations;
};
constexpr std::size_t kHeaderSize = 64;  // keeps the data's alignment
static_assert(sizeof(Header) <= kHeaderSize && kHeaderSize % c10::gAlignment == 0);

c10::Allocator* wrapped = nullptr;  // set once, by install_memory_meter

void free_storage(void* data) {
  if (data == nullptr) return;
  void* block = static_cast<std::byte*>(data) - kHeaderSize;
  auto* header = std::launder(static_cast<Header*>(block));
  if (header->counters) header->counters->subtract(header->bytes, header->use);
  header->~Header();
  wrapped->raw_deallocate(block);
}

}  // namespace

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    if (size == 0) return {nullptr, nullptr, &free_storage, c10::Device(c10::DeviceType::CPU)};
    // A size this large was negative once; what is wrapped refuses it in LibTorch's words.
    if (size > std::numeric_limits<std::size_t>::max() - kHeaderSize)
      return wrapped->allocate(size);
    auto* block = static_cast<std::byte*>(wrapped->raw_allocate(size + kHeaderSize));
    auto* header = new (block) Header;
    if (const auto& charge = thread_charge; charge.meter != nullptr) {
      *header = {charge.meter->counters_, static_cast<std::int64_t>(size), charge.use};
      header->counters->add(header->bytes, header->use);
    }
    auto* data = block + kHeaderSize;
    return {data, data, &free_storage, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_storage; }

  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }
};

std::string_view memory_use_name(MemoryUse use) {
  constexpr std::array<std::string_view, kMemoryUses.size()> kNames{
      "weights", "gradients", "optimizer", "activations", "link"};
  return kNames[static_cast<std::size_t>(use)];
}

std::int64_t MemoryBytes::total() const {
  return std::accumulate(by_use.begin(), by_use.end(), std::int64_t{0});
}

void install_memory_meter() {
  static std::once_flag once;
  std::call_once(once, [] {
    wrapped = c10::GetCPUAllocator();
    HAIRPIN_CHECK(wrapped->raw_deleter() != nullptr,
                  "LibTorch's CPU allocator cannot free by pointer alone");
    static auto* const allocator = new CountingAllocator;  // storages may be freed after main
    c10::SetCPUAllocator(allocator, 1);                    // LibTorch's own has priority 0
    HAIRPIN_CHECK(c10::GetCPUAllocator() == allocator,
                  "LibTorch kept another allocator of higher priority");
  });
}

MemoryMeter::MemoryMeter() : counters_(std::make_shared<Counters>()) { install_memory_meter(); }

MemoryBytes MemoryMeter::current() const { return counters_->numbers().current; }
MemoryBytes MemoryMeter::at_peak() const { return counters_->numbers().at_peak; }
MemoryBytes MemoryMeter::peak_of_each() const { return counters_->numbers().peak_of_each; }
void MemoryMeter::reset_peak() { counters_->reset_peak(); }
MemoryMeter::Largest MemoryMeter::largest() const { return counters_->numbers().largest; }
void MemoryMeter::reset_largest() { counters_->reset_largest(); }

MemoryMeter* current_memory_meter() { return thread_charge.meter; }

MeterScope::MeterScope(MemoryMeter* meter, MemoryUse use)
    : meter_before_(thread_charge.meter), use_before_(thread_charge.use) {
  thread_charge = {meter, use};
}

MeterScope::MeterScope(MemoryUse use) : MeterScope(thread_charge.meter, use) {}

MeterScope::~MeterScope() { thread_charge = {meter_before_, use_before_}; }

}  // namespace hairpin
