#include "hairpin/collective/test_backends.h"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <thread>

#include "hairpin/collective/local.h"

namespace hairpin::collective {
namespace {

void run_local(int size, const RankBody& body) {
  LocalWorld world;
  const auto groups = world.make_group(size, "test group");
  const auto fail = [&](Error error) { world.fail(std::move(error)); };
  std::vector<std::jthread> threads;
  for (const auto& group : groups)
    threads.emplace_back([&body, &fail, &group = *group] {
      try {
        body(group, fail);
      } catch (const std::exception& thrown) {
        ADD_FAILURE() << "rank " << group.rank() << " of " << group.size() << ": " << thrown.what();
        fail({ErrorKind::internal, thrown.what()});
      }
    });
}

}  // namespace

std::vector<Backend> all_backends() { return {{"local", run_local}}; }

}  // namespace hairpin::collective
