#include "hairpin/link/window.h"

#include <algorithm>

namespace hairpin::link {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kShortestMeasure{50};
constexpr std::size_t kRates = 10;
// TCP has found the path's rate when it has not grown by a quarter for so many measures (as BBR's
// start-up ends), or when a queue begins to build up.
constexpr double kGrowth = 1.25;
constexpr int kFound = 3;

}  // namespace

void Window::see(const Seen& seen) {
  if (seen.min_rtt.count() > 0) min_rtt_ = seen.min_rtt;
  if (!began_) {
    began_ = seen;
    return;
  }
  const auto passed = seen.now - began_->now;
  const bool queue_begins = not_grown_ < kFound && !rates_.empty() && seen.rtt > min_rtt_ + kQueue;
  if (passed < kShortestMeasure || (passed < min_rtt_ && !queue_begins)) return;
  add_rate(static_cast<double>(seen.delivered_bytes - began_->delivered_bytes) /
           Seconds(passed).count());
  began_ = seen;
  if (queue_begins) not_grown_ = kFound;
}

void Window::add_rate(double bytes_per_second) {
  rates_.push_back(bytes_per_second);
  if (rates_.size() > kRates) rates_.pop_front();
  if (not_grown_ >= kFound) return;
  not_grown_ = bytes_per_second > best_ * kGrowth ? 0 : not_grown_ + 1;
  best_ = std::max(best_, bytes_per_second);
}

std::optional<std::uint64_t> Window::limit() const {
  if (not_grown_ < kFound || min_rtt_ < kShortPath) return std::nullopt;
  const double rate = *std::ranges::max_element(rates_);
  const double bytes = rate * Seconds(min_rtt_ + kQueue).count();
  return std::max(kLeastBytes, static_cast<std::uint64_t>(bytes));
}

}  // namespace hairpin::link
