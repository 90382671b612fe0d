// Compute threads of a rank. A rank is one thread; LibTorch's kernels and `parallel_rows` may use
// `threads` OpenMP threads on its behalf. Results are promised equal only for equal counts.
#pragma once

#include <cstdint>
#include <functional>

namespace hairpin {

// For the calling thread; call it first in every rank's thread.
void set_compute_threads(int threads);
int compute_threads();

// Runs body(begin, end) over disjoint ranges that cover [0, rows), each of at least `grain` rows
// (but the last). The body must compute each row alike in whatever range it lies, so the number of
// threads never changes a bit.
void parallel_rows(std::int64_t rows, std::int64_t grain,
                   const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace hairpin
