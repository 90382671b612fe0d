// What the conformance tests of the backends share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "hairpin/collective/test_backends.h"
#include "hairpin/collective/test_exercise.h"

namespace hairpin::collective {

// Tests run their bodies on the ranks of the backend at hand.
class BackendTest : public testing::TestWithParam<Backend> {
 protected:
  static constexpr int kLargest = 5;
  static void run(int size, const RankBody& body) { GetParam().run(size, body); }
  static void run_all_sizes(const RankBody& body) {
    for (int size = 1; size <= kLargest; ++size) run(size, body);
  }
};

inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

// "all_reduce of ..., rank 1 of 3"
std::string name_of(const Call& call, const Group& group);

// Nothing, a yield or a nap, to mix up who comes first.
void dawdle(std::minstd_rand& random);

// What the Aborted says that `call` must throw.
std::string message_of(const std::function<void()>& call);

}  // namespace hairpin::collective
