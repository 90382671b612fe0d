// Invariants of our own. A failed check is a defect in Hairpin, never a user's mistake: it throws
// `BrokenInvariant`, which ends the run with exit code 1 and the place of the check.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace hairpin {

class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace hairpin

// HAIRPIN_CHECK(x.size(1) == hidden, "got {} columns, want {}", x.size(1), hidden);
#define HAIRPIN_CHECK(condition, ...)                                                      \
  do {                                                                                     \
    if (!(condition))                                                                      \
      ::hairpin::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
