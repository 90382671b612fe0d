#include "hairpin/base/check.h"

namespace hairpin {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw BrokenInvariant(fmt::format("{}:{}: {} ({})", file, line, message, condition));
}

}  // namespace hairpin
