#include "tests/wan/relay.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hairpin::wan {
namespace {

constexpr std::size_t kLargestPacket = 65536;
constexpr int kBatch = 8;  // packets read before those that are due are looked for
constexpr Time kLate{200'000};

// Nobody asked for IPv6; the kernel's own announcements aren't the user's packets.
bool is_ipv4(std::byte first) { return std::to_integer<int>(first) >> 4 == 4; }

}  // namespace

Relay::Relay(int edge, int cloud, const Settings& settings)
    : up_{edge, cloud,
          Pipe(path_settings(settings).up,
               derive_seed(static_cast<std::uint64_t>(settings.seed), "up"))},
      down_{cloud, edge,
            Pipe(path_settings(settings).down,
                 derive_seed(static_cast<std::uint64_t>(settings.seed), "down"))},
      buffer_(std::make_unique<std::byte[]>(kLargestPacket)) {}

void Relay::change(const Settings& settings) {
  const auto path = path_settings(settings);
  up_.pipe.change(path.up, now());
  down_.pipe.change(path.down, now());
}

void Relay::run() {
  for (auto* way : {&up_, &down_}) {
    deliver(*way);
    take_in(*way);
    deliver(*way);
  }
}

void Relay::deliver(Way& way) {
  while (const auto out = way.pipe.pop(now())) {
    if (::write(way.to, out->packet.data(), out->packet.size()) < 0) ++failed_writes_;
    const auto late = now() - out->due;
    ++lateness_.packets;
    if (late > kLate) ++lateness_.over_200us;
    lateness_.sum += late;
    lateness_.most = std::max(lateness_.most, late);
  }
}

void Relay::take_in(Way& way) {
  for (int i = 0; i < kBatch; ++i) {
    const auto size = ::read(way.from, buffer_.get(), kLargestPacket);
    if (size <= 0) return;
    if (!is_ipv4(buffer_[0])) continue;
    way.pipe.push(Bytes(buffer_.get(), buffer_.get() + size), now());
  }
}

Time Relay::idle_for() const {
  Time at = now() + std::chrono::seconds(1);
  for (const auto* way : {&up_, &down_})
    if (const auto next = way->pipe.next()) at = std::min(at, *next);
  return std::max(at - now(), Time{0});
}

}  // namespace hairpin::wan
