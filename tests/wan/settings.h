// What the emulator is told on its command line and, while it runs, on its standard input: one
// table of names for both.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hairpin/base/result.h"
#include "tests/wan/pipe.h"

namespace hairpin::wan {

struct Direction {
  double delay_ms = 0;
  double rate_mbit = 0;  // 10^6 bits a second; 0: any
  double loss_pct = 0;
  double jitter_ms = 0, jitter_pct = 0;  // pct: of the delay; both add
  double jitter_hold_ms = 10;
  double queue_kb = 0;  // 1000 bytes; 0: as default_queue_bytes
  double reorder = 0;   // 1: jitter may
};

struct Settings {
  Direction up, down;  // edge to cloud, cloud to edge
  double mtu = 9000;   // bytes; not to be changed in mid-run, nor is the seed
  double seed = 1;
};

// "delay-ms" sets both directions, "up-delay-ms" and "down-delay-ms" one. An unknown name, no
// number, or one out of bounds: bad_input, and nothing is changed.
Result<void> set(Settings& settings, std::string_view name, std::string_view value);
bool for_start_only(std::string_view name);  // "mtu" and "seed"
std::string names_and_meanings();            // for people, a line each

// One bandwidth-delay product of a round trip, but at least what 10 ms and 64 packets take: with
// less, no TCP fills a path.
std::uint64_t default_queue_bytes(double rate_mbit, double round_trip_ms, double mtu);

struct PathSettings {
  PipeSettings up, down;
};
PathSettings path_settings(const Settings& settings);

}  // namespace hairpin::wan
