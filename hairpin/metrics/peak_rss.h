// How much memory the process has had resident at most.
#pragma once

#include <cstdint>
#include <string_view>

namespace hairpin::metrics {

// Bytes; 0 where the system has no /proc/self/status. It never falls.
std::uint64_t peak_rss_bytes();

// The VmHWM line of a /proc/PID/status text, in bytes; 0 when there is none.
std::uint64_t peak_rss_in(std::string_view status);

}  // namespace hairpin::metrics
