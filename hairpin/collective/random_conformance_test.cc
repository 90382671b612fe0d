// Random programs of operations under random delays, on each backend.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "hairpin/collective/conformance.h"

namespace hairpin::collective {
namespace {

class RandomConformance : public BackendTest {};

struct Step {
  Call call;
  bool async = false;
  bool wait_at_once = false;
};

Step any_step(int size, std::uint64_t seed) {
  const auto any_bool = rc::gen::arbitrary<bool>();
  Step step;
  step.call.kind =
      *rc::gen::element(Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast,
                        Kind::scatter, Kind::all_to_all, Kind::send, Kind::barrier, Kind::exchange);
  const bool has_double = step.call.kind == Kind::all_reduce || step.call.kind == Kind::all_gather;
  if (has_double && *any_bool) step.call.element = Element::f64;
  if (step.call.kind == Kind::all_reduce && *any_bool) step.call.reduction = Reduction::max;
  step.call.root = *rc::gen::inRange(0, size);
  step.call.in_place = *any_bool;
  step.call.counts = *rc::gen::container<std::vector<std::int64_t>>(
      static_cast<std::size_t>(size), rc::gen::inRange<std::int64_t>(0, 40));
  step.call.seed = seed;
  step.async = *any_bool;
  step.wait_at_once = *rc::gen::inRange(0, 4) == 0;
  return step;
}

// What went wrong on this rank, or empty. All buffers live until all operations have ended.
std::string follow(const std::vector<Step>& program, std::uint64_t seed, Group& group) {
  std::minstd_rand random(static_cast<unsigned>(seed) * 17 + static_cast<unsigned>(group.rank()));
  std::vector<std::unique_ptr<Exercise>> exercises;
  std::vector<Work> works;
  std::uint64_t bytes = 0;
  for (const auto& step : program) {
    exercises.push_back(Exercise::make(step.call, group.rank()));
    bytes += exercises.back()->bytes();
    dawdle(random);
    if (step.async)
      works.push_back(exercises.back()->start(group));
    else
      exercises.back()->run(group);
    if (step.wait_at_once && !works.empty()) works[random() % works.size()].wait();
  }
  std::shuffle(works.begin(), works.end(), random);
  for (auto& work : works) work.wait();
  for (std::size_t i = 0; i < program.size(); ++i)
    if (const auto wrong = exercises[i]->wrong(); !wrong.empty())
      return name_of(program[i].call, group) + ": " + wrong;
  if (group.traffic().bytes != bytes) return "bytes moved are not the sum of the formulas";
  return {};
}

TEST_P(RandomConformance, RandomProgramsUnderRandomDelays) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(1, kLargest + 1);
    const auto length = *rc::gen::inRange<std::size_t>(1, 12);
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    std::vector<Step> program;
    for (std::size_t i = 0; i < length; ++i) program.push_back(any_step(size, seed + i));
    std::mutex mutex;
    std::string wrong;
    run(size, [&](Group& group, const FailWorld&) {
      const auto mine = follow(program, seed, group);
      const std::lock_guard lock(mutex);
      if (!mine.empty()) wrong = mine;
    });
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

// A failure at any point of a program ends it on all ranks: whatever was thrown names the cause.
TEST_P(RandomConformance, RandomProgramsThatFailSomewhere) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(2, kLargest + 1);
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    const int failing = *rc::gen::inRange(0, size);
    std::vector<Step> program;
    for (std::uint64_t i = 0; i < 8; ++i) program.push_back(any_step(size, seed + i));
    const auto passed = *rc::gen::inRange<std::size_t>(0, program.size());
    std::atomic<int> right = 0;
    run(size, [&](Group& group, const FailWorld& fail) {
      auto part = program;
      if (group.rank() == failing) part.resize(passed);
      const auto message = message_of([&] {
        follow(part, seed, group);
        if (group.rank() == failing) fail({ErrorKind::internal, "it ends here"});
        group.barrier();
      });
      if (message == "it ends here") ++right;
    });
    RC_ASSERT(right == size);
  }));
}

INSTANTIATE_TEST_SUITE_P(Backends, RandomConformance, testing::ValuesIn(all_backends()),
                         name_of_backend);

}  // namespace
}  // namespace hairpin::collective
