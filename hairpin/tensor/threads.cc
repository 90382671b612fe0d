// The one file compiled with -fopenmp: without it at::parallel_for would run serially. LibTorch's
// libgomp is the only OpenMP runtime of the process (threads_test.cc).
#include "hairpin/tensor/threads.h"

#include <ATen/Parallel.h>

namespace hairpin {

void set_compute_threads(int threads) { at::set_num_threads(threads); }
int compute_threads() { return at::get_num_threads(); }

void parallel_rows(std::int64_t rows, std::int64_t grain,
                   const std::function<void(std::int64_t, std::int64_t)>& body) {
  at::parallel_for(0, rows, grain, body);
}

}  // namespace hairpin
