#include "hairpin/metrics/peak_rss.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace hairpin::metrics {

std::uint64_t peak_rss_in(std::string_view status) {
  constexpr std::string_view kName = "\nVmHWM:";
  const auto at = status.find(kName);
  if (at == std::string_view::npos) return 0;
  const auto digits = status.find_first_not_of(" \t", at + kName.size());
  if (digits == std::string_view::npos) return 0;
  std::uint64_t kibibytes = 0;  // the kernel's "kB" are 1024 bytes
  std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  return kibibytes * 1024;
}

std::uint64_t peak_rss_bytes() {
  std::ostringstream text;  // files in /proc have no size to read by
  text << std::ifstream("/proc/self/status").rdbuf();
  return peak_rss_in(text.str());
}

}  // namespace hairpin::metrics
