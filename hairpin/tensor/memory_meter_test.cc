#include "hairpin/tensor/memory_meter.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "hairpin/tensor/tensor.h"

namespace hairpin {
namespace {

Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }

MemoryBytes of(MemoryUse use, std::int64_t count) {
  MemoryBytes out;
  out[use] = count;
  return out;
}

TEST(MemoryMeterTest, StoragesAreChargedToTheScopesUse) {
  MemoryMeter meter;
  std::vector<Tensor> kept;
  for (const auto use : kMemoryUses) {
    const MeterScope scope(&meter, use);
    kept.push_back(bytes(100 + static_cast<std::int64_t>(use)));
  }
  EXPECT_EQ(meter.current(), (MemoryBytes{{100, 101, 102, 103, 104}}));
  EXPECT_EQ(meter.current().total(), 510);
  kept.clear();
  EXPECT_EQ(meter.current(), MemoryBytes{});
  EXPECT_EQ(meter.at_peak(), (MemoryBytes{{100, 101, 102, 103, 104}}));
}

TEST(MemoryMeterTest, UsesHaveNames) {
  EXPECT_EQ(memory_use_name(MemoryUse::weights), "weights");
  EXPECT_EQ(memory_use_name(MemoryUse::gradients), "gradients");
  EXPECT_EQ(memory_use_name(MemoryUse::optimizer), "optimizer");
  EXPECT_EQ(memory_use_name(MemoryUse::activations), "activations");
  EXPECT_EQ(memory_use_name(MemoryUse::link), "link");
}

TEST(MemoryMeterTest, ScopesNestAndEnd) {
  MemoryMeter outer, inner;
  EXPECT_EQ(current_memory_meter(), nullptr);
  const Tensor before = bytes(1);
  std::vector<Tensor> kept;
  {
    const MeterScope a(&outer, MemoryUse::gradients);
    EXPECT_EQ(current_memory_meter(), &outer);
    {
      const MeterScope b(MemoryUse::weights);
      kept.push_back(bytes(2));
      const MeterScope c(&inner, MemoryUse::link);
      kept.push_back(bytes(4));
      const MeterScope none(nullptr, MemoryUse::link);
      kept.push_back(bytes(8));
    }
    kept.push_back(bytes(16));
  }
  EXPECT_EQ(current_memory_meter(), nullptr);
  const Tensor after = bytes(32);
  EXPECT_EQ(outer.current(), (MemoryBytes{{2, 16, 0, 0, 0}}));
  EXPECT_EQ(inner.current(), of(MemoryUse::link, 4));
}

// Layers set the use whether or not somebody counts.
TEST(MemoryMeterTest, AUseWithoutAMeterCountsNowhere) {
  const MeterScope scope(MemoryUse::weights);
  const Tensor tensor = bytes(5);
  EXPECT_EQ(current_memory_meter(), nullptr);
}

TEST(MemoryMeterTest, ViewsCostNothingAndKeepTheStorage) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  Tensor whole = bytes(100);
  const Tensor view = whole.narrow(0, 10, 20);
  EXPECT_EQ(meter.current().total(), 100);
  whole.reset();
  EXPECT_EQ(meter.current().total(), 100);
}

TEST(MemoryMeterTest, AStorageThatGrowsIsChargedAnew) {
  MemoryMeter meter;
  Tensor tensor;
  {
    const MeterScope scope(&meter, MemoryUse::weights);
    tensor = at::ones({10}, at::kByte);
  }
  const MeterScope scope(&meter, MemoryUse::link);
  tensor.resize_({1000});
  EXPECT_EQ(meter.current(), of(MemoryUse::link, 1000));
  EXPECT_EQ(meter.at_peak(), (MemoryBytes{{10, 0, 0, 0, 1000}}));  // both, while it was copied
  EXPECT_EQ(tensor.narrow(0, 0, 10).sum().item<std::int64_t>(), 10);
}

TEST(MemoryMeterTest, AnotherThreadMayFreeAndInherit) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::gradients);
  Tensor mine = bytes(100), theirs;
  std::thread([&, inherited = current_memory_meter()] {
    EXPECT_EQ(current_memory_meter(), nullptr);
    const Tensor unseen = bytes(7);
    mine.reset();
    const MeterScope own(inherited, MemoryUse::link);
    theirs = bytes(30);
  }).join();
  EXPECT_EQ(meter.current(), of(MemoryUse::link, 30));
}

TEST(MemoryMeterTest, ThreadsCountTogether) {
  MemoryMeter meter;
  const auto work = [&] {
    const MeterScope scope(&meter, MemoryUse::activations);
    for (int i = 0; i < 2000; ++i) bytes(1 + i % 50);
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  EXPECT_EQ(meter.current(), MemoryBytes{});
  EXPECT_GE(meter.at_peak().total(), 50);
  EXPECT_LE(meter.at_peak().total(), 100);
}

TEST(MemoryMeterTest, ATensorMayOutliveItsMeter) {
  Tensor tensor;
  {
    MemoryMeter meter;
    const MeterScope scope(&meter, MemoryUse::activations);
    tensor = at::ones({10});
  }
  EXPECT_EQ(tensor.sum().item<float>(), 10.0f);
}

TEST(MemoryMeterTest, PeaksAndLargestCanBeForgotten) {
  MemoryMeter meter;
  EXPECT_EQ(meter.largest().bytes, 0);
  const MeterScope scope(&meter, MemoryUse::activations);
  const Tensor kept = bytes(10);
  bytes(500);
  EXPECT_EQ(meter.largest().bytes, 500);
  EXPECT_EQ(meter.at_peak().total(), 510);
  meter.reset_peak();
  meter.reset_largest();
  EXPECT_EQ(meter.at_peak(), of(MemoryUse::activations, 10));
  EXPECT_EQ(meter.peak_of_each(), of(MemoryUse::activations, 10));
  const MeterScope link(MemoryUse::link);
  bytes(3);
  EXPECT_EQ(meter.largest().bytes, 3);
  EXPECT_EQ(meter.largest().use, MemoryUse::link);
  EXPECT_EQ(meter.at_peak(), (MemoryBytes{{0, 0, 0, 10, 3}}));
}

TEST(MemoryMeterTest, OfEqualPeaksTheFirstCounts) {
  MemoryMeter meter;
  for (const auto use : {MemoryUse::link, MemoryUse::weights}) {
    const MeterScope scope(&meter, use);
    bytes(10);
  }
  EXPECT_EQ(meter.at_peak(), of(MemoryUse::link, 10));
}

TEST(MemoryMeterTest, AlignmentIsLibTorchsAndMemoryIsAllUsable) {
  install_memory_meter();
  for (std::int64_t count = 1; count < 300; ++count) {
    const Tensor tensor = at::ones({count}, at::kByte);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0u);
    EXPECT_EQ(tensor.sum().item<std::int64_t>(), count);
  }
}

TEST(MemoryMeterTest, RawMemoryIsCountedToo) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  auto* allocator = c10::GetCPUAllocator();
  void* block = allocator->raw_allocate(40);
  EXPECT_EQ(meter.current().total(), 40);
  allocator->raw_deallocate(block);
  EXPECT_EQ(meter.current().total(), 0);
}

TEST(MemoryMeterTest, NothingIsChargedForNothingOrForWhatFails) {
  MemoryMeter meter;
  const MeterScope scope(&meter, MemoryUse::activations);
  const Tensor empty = bytes(0);
  auto* allocator = c10::GetCPUAllocator();
  allocator->raw_deallocate(allocator->raw_allocate(0));
  for (const std::size_t negative : {std::size_t{1}, std::size_t{64}, std::size_t{100}})
    EXPECT_ANY_THROW(allocator->allocate(-negative));
  EXPECT_ANY_THROW(allocator->allocate(std::size_t{1} << 62));
  EXPECT_EQ(meter.at_peak(), MemoryBytes{});
  EXPECT_EQ(meter.largest().bytes, 0);
}

// Against a list of what is alive, summed up anew after each change.
struct Model {
  struct Live {
    Tensor tensor;
    MemoryUse use;
  };
  std::vector<Live> live;
  MemoryBytes current, at_peak, peak_of_each;
  std::int64_t largest = 0;

  void update() {
    current = {};
    for (const auto& each : live) current[each.use] += each.tensor.numel();
    for (const auto use : kMemoryUses)
      peak_of_each[use] = std::max(peak_of_each[use], current[use]);
    if (current.total() > at_peak.total()) at_peak = current;
  }
};

RC_GTEST_PROP(MemoryMeterTest, EqualsASumOverWhatIsAlive, ()) {
  MemoryMeter meter;
  Model model;
  const auto actions = *rc::gen::inRange(1, 40);
  for (int i = 0; i < actions; ++i) {
    const auto use = kMemoryUses[*rc::gen::inRange<std::size_t>(0, kMemoryUses.size())];
    if (model.live.empty() || *rc::gen::inRange(0, 3) > 0) {
      const MeterScope scope(&meter, use);
      const auto count = *rc::gen::inRange<std::int64_t>(0, 500);
      model.live.push_back({bytes(count), use});
      model.largest = std::max(model.largest, count);
    } else {
      const auto index = *rc::gen::inRange<std::size_t>(0, model.live.size());
      model.live.erase(model.live.begin() + static_cast<std::ptrdiff_t>(index));
    }
    model.update();
  }
  RC_ASSERT(meter.current() == model.current);
  RC_ASSERT(meter.at_peak() == model.at_peak);
  RC_ASSERT(meter.peak_of_each() == model.peak_of_each);
  RC_ASSERT(meter.largest().bytes == model.largest);
}

}  // namespace
}  // namespace hairpin
