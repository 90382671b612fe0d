// Moves packets between two networks through a pipe each way, on time. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/wan/pipe.h"
#include "tests/wan/settings.h"

namespace hairpin::wan {

// How far packets came out after their time: how well the emulation went.
struct Lateness {
  std::uint64_t packets = 0;
  std::uint64_t over_200us = 0;  // of them
  Time sum{0}, most{0};
};

class Relay {
 public:
  // File descriptors that never block, one whole packet a read or write; not owned.
  Relay(int edge, int cloud, const Settings& settings);

  void change(const Settings& settings);
  // Moves what can be moved now; not for long, so that the caller sees its other events.
  void run();
  // How long nothing is due if nothing comes in; at most a second.
  Time idle_for() const;

  const Pipe& up() const { return up_.pipe; }
  const Pipe& down() const { return down_.pipe; }
  const Lateness& lateness() const { return lateness_; }
  std::uint64_t failed_writes() const { return failed_writes_; }

 private:
  struct Way {
    int from, to;
    Pipe pipe;
  };

  Time now() const { return std::chrono::steady_clock::now() - start_; }
  void deliver(Way& way);
  void take_in(Way& way);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Way up_, down_;
  std::unique_ptr<std::byte[]> buffer_;
  Lateness lateness_;
  std::uint64_t failed_writes_ = 0;
};

}  // namespace hairpin::wan
