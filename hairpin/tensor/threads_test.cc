#include "hairpin/tensor/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hairpin {
namespace {

TEST(Threads, EveryRowIsInExactlyOneRange) {
  for (const int threads : {1, 2, 3}) {
    set_compute_threads(threads);
    for (const std::int64_t rows : {0, 1, 7, 64, 1001}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(rows));
      parallel_rows(rows, 5, [&](std::int64_t begin, std::int64_t end) {
        ASSERT_LT(begin, end);
        for (auto i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& count : visits) ASSERT_EQ(count, 1);
    }
  }
  set_compute_threads(1);
}

// Each of two ranges waits until the other has begun: one after the other they would never end.
TEST(Threads, RangesRunAtTheSameTime) {
  set_compute_threads(2);
  std::atomic<int> begun{0};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_rows(2, 1, [&](std::int64_t begin, std::int64_t end) {
    ASSERT_EQ(end - begin, 1) << "one range for all: not parallel";
    ++begun;
    while (begun < 2) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
  set_compute_threads(1);
}

TEST(Threads, FewRowsStayOnTheCallingThread) {
  set_compute_threads(2);
  parallel_rows(8, 8,
                [&, caller = std::this_thread::get_id()](std::int64_t begin, std::int64_t end) {
                  EXPECT_EQ(std::this_thread::get_id(), caller);
                  EXPECT_EQ(std::pair(begin, end), std::pair(std::int64_t{0}, std::int64_t{8}));
                });
  set_compute_threads(1);
}

// Ranks are threads, each with its own count.
TEST(Threads, TheCountIsTheCallingThreads) {
  set_compute_threads(1);
  std::thread([] {
    set_compute_threads(3);
    EXPECT_EQ(compute_threads(), 3);
  }).join();
  EXPECT_EQ(compute_threads(), 1);
}

TEST(Threads, TheProcessHasOneOpenMpRuntime) {
  set_compute_threads(2);
  parallel_rows(2, 1, [](std::int64_t, std::int64_t) {});
  set_compute_threads(1);
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> runtimes;
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.rfind('/');
    if (name == std::string::npos) continue;
    for (const auto* library : {"/libgomp", "/libomp", "/libiomp"})
      if (line.compare(name, std::string(library).size(), library) == 0)
        runtimes.insert(line.substr(line.find('/')));
  }
  EXPECT_EQ(runtimes.size(), 1u) << testing::PrintToString(runtimes);
}

}  // namespace
}  // namespace hairpin
