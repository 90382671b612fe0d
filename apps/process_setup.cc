#include "apps/process_setup.h"

#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace hairpin::apps {
namespace {

void make_openmp_passive(char** argv) {
  constexpr const char* kName = "OMP_WAIT_POLICY";
  if (std::getenv(kName) != nullptr) return;
  if (::setenv(kName, "PASSIVE", 0) != 0) return;
  // Returns only when it fails (no /proc): then the program runs on, correct but perhaps slower.
  ::execv("/proc/self/exe", argv);
}

void keep_freed_memory() {
  // A threshold for separate maps can be 32 MiB at most, less than a chunk of logits: no such maps.
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  ::mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

void prepare_process(char** argv) {
  make_openmp_passive(argv);
  keep_freed_memory();
}

}  // namespace hairpin::apps
