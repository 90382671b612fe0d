#include "apps/process_setup.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace hairpin::apps {
namespace {

// What a process shows that a test below has started and that then started itself anew. Elsewhere
// there is nothing to show.
TEST(StartedAnew, HasThePolicy) {
  const char* wanted = std::getenv("WANTED_POLICY");
  if (wanted == nullptr) return;
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), wanted);
}

// The exit code of a child that prepares itself as `hairpin` would, with this policy set before.
int child_code(const char* policy_before, const char* wanted) {
  const auto child = ::fork();
  if (child == 0) {
    ::setenv("WANTED_POLICY", wanted, 1);
    if (policy_before == nullptr) {
      ::unsetenv("OMP_WAIT_POLICY");
    } else {
      ::setenv("OMP_WAIT_POLICY", policy_before, 1);
    }
    std::string name = "child", filter = "--gtest_filter=StartedAnew.*";
    char* argv[] = {name.data(), filter.data(), nullptr};
    prepare_process(argv);
    // Still here: it was not started anew.
    ::_exit(std::string(std::getenv("OMP_WAIT_POLICY")) == wanted ? 77 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessSetupTest, StartsItselfAnewWithPassiveThreads) {
  EXPECT_EQ(child_code(nullptr, "PASSIVE"), 0);
}

TEST(ProcessSetupTest, TheUsersPolicyStands) { EXPECT_EQ(child_code("ACTIVE", "ACTIVE"), 77); }

long page_faults_of(std::size_t bytes) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  {
    const std::vector<char> block(bytes, 1);
    EXPECT_EQ(block.back(), 1);
  }
  ::getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(ProcessSetupTest, LargeBlocksKeepTheirPages) {
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  char* argv[] = {nullptr};
  prepare_process(argv);
  constexpr std::size_t kBytes = std::size_t{100} << 20;
  page_faults_of(kBytes);
  EXPECT_LT(page_faults_of(kBytes), 100);  // of 25,600 pages
}

}  // namespace
}  // namespace hairpin::apps
