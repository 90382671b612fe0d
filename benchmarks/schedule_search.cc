// How long hairpin-adaptive's search takes: the processor's milliseconds for m = 64, PP = 8, the
// median of eleven searches for each latency, with whole and with split backwards.
//
//     ninja -C build schedule_search && build/bin/schedule_search
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {
namespace {

double milliseconds_of(const GenerateOptions& options) {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    const std::clock_t begin = std::clock();
    const auto schedule = generate("hairpin-adaptive", options);
    times.push_back(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    if (!schedule) fmt::print("{}\n", schedule.error().message);
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

void run() {
  fmt::print("latency  whole  split   (ms; a unit is one head forward)\n");
  for (const int latency : {0, 1, 4, 8, 20}) {
    GenerateOptions options{.pp = 8, .microbatches = 64};
    options.times = unit_times(layout_of("hairpin-adaptive", options).value());
    options.times->latency = 1000 * latency;
    const double whole = milliseconds_of(options);
    options.split_backward = true;
    fmt::print("{:>7}  {:>5.1f}  {:>5.1f}\n", latency, whole, milliseconds_of(options));
  }
}

}  // namespace
}  // namespace hairpin::schedule

int main() { hairpin::schedule::run(); }
