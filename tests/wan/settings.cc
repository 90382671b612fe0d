#include "tests/wan/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hairpin::wan {
namespace {

struct Key {
  std::string_view name;
  double Direction::* field;
  double most;
  std::string_view meaning;
};

constexpr std::array kKeys = {
    Key{"delay-ms", &Direction::delay_ms, 60000, "one way"},
    Key{"rate-mbit", &Direction::rate_mbit, 1e6, "10^6 bits a second; 0: any"},
    Key{"loss-pct", &Direction::loss_pct, 100, "of the packets; 100 cuts the path"},
    Key{"jitter-ms", &Direction::jitter_ms, 60000, "extra delay, uniform from 0 to this"},
    Key{"jitter-pct", &Direction::jitter_pct, 1000, "the same as a share of the delay"},
    Key{"jitter-hold-ms", &Direction::jitter_hold_ms, 60000,
        "how long one draw of it holds; 0: for one packet (10)"},
    Key{"queue-kb", &Direction::queue_kb, 1e7,
        "before the bottleneck; 0: a bandwidth-delay product"},
    Key{"reorder", &Direction::reorder, 1, "1: jitter may reorder packets"},
};

struct StartKey {
  std::string_view name;
  double Settings::* field;
  double least, most;
  std::string_view meaning;
};

constexpr std::array kStartKeys = {
    StartKey{"mtu", &Settings::mtu, 576, 65000, "bytes of a packet (9000)"},
    StartKey{"seed", &Settings::seed, 0, 1e15, "of loss and jitter (1)"},
};

Result<double> number(std::string_view name, std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      value < least || value > most)
    return bad_input("{} is '{}'; give a number from {:g} to {:g}", name, text, least, most);
  return value;
}

std::string_view without(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view{};
}

Time milliseconds(double value) { return Time{std::llround(value * 1e6)}; }

PipeSettings pipe_settings(const Direction& direction, double round_trip_ms, double mtu) {
  const double jitter_ms = direction.jitter_ms + direction.jitter_pct / 100 * direction.delay_ms;
  const auto queue = static_cast<std::uint64_t>(direction.queue_kb * 1000);
  return {.delay = milliseconds(direction.delay_ms),
          .bits_per_second = direction.rate_mbit * 1e6,
          .queue_bytes =
              queue > 0 ? queue : default_queue_bytes(direction.rate_mbit, round_trip_ms, mtu),
          .loss = direction.loss_pct / 100,
          .jitter = milliseconds(jitter_ms),
          .jitter_hold = milliseconds(direction.jitter_hold_ms),
          .reorder = direction.reorder > 0};
}

}  // namespace

Result<void> set(Settings& settings, std::string_view name, std::string_view value) {
  for (const auto& key : kKeys) {
    const bool up = name == key.name || without("up-", name) == key.name;
    const bool down = name == key.name || without("down-", name) == key.name;
    if (!up && !down) continue;
    HAIRPIN_TRY(const double parsed, number(name, value, 0, key.most));
    if (up) settings.up.*key.field = parsed;
    if (down) settings.down.*key.field = parsed;
    return {};
  }
  for (const auto& key : kStartKeys) {
    if (name != key.name) continue;
    HAIRPIN_TRY(settings.*key.field, number(name, value, key.least, key.most));
    return {};
  }
  return bad_input("there is no '{}'; wanem --help lists what there is", name);
}

bool for_start_only(std::string_view name) {
  return std::ranges::any_of(kStartKeys, [&](const auto& key) { return name == key.name; });
}

std::string names_and_meanings() {
  std::string lines;
  for (const auto& key : kKeys) lines += fmt::format("  {:15} {}\n", key.name, key.meaning);
  for (const auto& key : kStartKeys) lines += fmt::format("  {:15} {}\n", key.name, key.meaning);
  return lines;
}

std::uint64_t default_queue_bytes(double rate_mbit, double round_trip_ms, double mtu) {
  constexpr double kLeastMs = 10;
  constexpr double kLeastPackets = 64;
  const double of_path = rate_mbit * 1e6 / 8 * std::max(round_trip_ms, kLeastMs) / 1000;
  return static_cast<std::uint64_t>(std::max(of_path, kLeastPackets * mtu));
}

PathSettings path_settings(const Settings& settings) {
  const double round_trip_ms = settings.up.delay_ms + settings.down.delay_ms;
  return {pipe_settings(settings.up, round_trip_ms, settings.mtu),
          pipe_settings(settings.down, round_trip_ms, settings.mtu)};
}

}  // namespace hairpin::wan
