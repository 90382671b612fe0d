#include "hairpin/link/traffic.h"

#include <algorithm>

#include "hairpin/base/check.h"

namespace hairpin::link {

void TrafficMeter::begin(Moment now) {
  if (frames_++ == 0) traffic_.idle += std::max(now - idle_since_, Moment::duration{0});
}

void TrafficMeter::end(Moment now) {
  HAIRPIN_CHECK(frames_ > 0, "a frame ended that never began");
  if (--frames_ == 0) idle_since_ = now;
}

void TrafficMeter::count_frame(std::uint64_t bytes, std::chrono::nanoseconds transfer) {
  ++traffic_.messages;
  traffic_.bytes += bytes;
  traffic_.transfer += transfer;
}

Traffic TrafficMeter::at(Moment now) const {
  auto traffic = traffic_;
  if (frames_ == 0) traffic.idle += std::max(now - idle_since_, Moment::duration{0});
  return traffic;
}

}  // namespace hairpin::link
