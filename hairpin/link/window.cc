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
// Until then no more than so many times what the path is known to hold: TCP's own start-up doubles
// it, and fills a queue as long as the path before it knows. Known is the best rate of short times,
// which the bottleneck bounds as it does long ones.
constexpr double kStartUp = 1.4;
constexpr int kShortTimes = 4;  // of a round trip
constexpr std::chrono::milliseconds kShortestTime{20};

double rate_between(const Window::Seen& from, const Window::Seen& to) {
  return static_cast<double>(to.delivered_bytes - from.delivered_bytes) /
         Seconds(to.now - from.now).count();
}

}  // namespace

void Window::see(const Seen& seen) {
  if (seen.min_rtt.count() > 0) min_rtt_ = seen.min_rtt;
  if (!found()) see_start_up(seen);
  if (!began_) {
    began_ = seen;
    return;
  }
  const auto passed = seen.now - began_->now;
  const bool queue_begins = !found() && !rates_.empty() && seen.rtt > min_rtt_ + kQueue;
  if (passed < kShortestMeasure || (passed < min_rtt_ && !queue_begins)) return;
  add_rate(rate_between(*began_, seen));
  began_ = seen;
  if (queue_begins) not_grown_ = kFound;
}

void Window::add_rate(double bytes_per_second) {
  rates_.push_back(bytes_per_second);
  if (rates_.size() > kRates) rates_.pop_front();
  if (found()) return;
  not_grown_ = bytes_per_second > best_ * kGrowth ? 0 : not_grown_ + 1;
  best_ = std::max(best_, bytes_per_second);
}

void Window::see_start_up(const Seen& seen) {
  const auto least = std::max<std::chrono::nanoseconds>(min_rtt_ / kShortTimes, kShortestTime);
  if (start_up_began_ && seen.now - start_up_began_->now < least) return;
  if (start_up_began_)
    start_up_rate_ = std::max(start_up_rate_, rate_between(*start_up_began_, seen));
  start_up_began_ = seen;
}

void Window::idle() {
  began_.reset();
  start_up_began_.reset();
}

bool Window::found() const { return not_grown_ >= kFound; }

std::optional<std::uint64_t> Window::limit() const {
  if (min_rtt_ < kShortPath) return std::nullopt;
  const double path = Seconds(min_rtt_).count();
  double bytes = 0;
  if (found()) {
    bytes = *std::ranges::max_element(rates_) * (path + Seconds(kQueue).count());
  } else {
    if (start_up_rate_ == 0) return std::nullopt;
    bytes = start_up_rate_ * std::max(path * kStartUp, path + Seconds(kQueue).count());
  }
  return std::max(kLeastBytes, static_cast<std::uint64_t>(bytes));
}

}  // namespace hairpin::link
