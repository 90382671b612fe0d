// One asynchronous step as a plain call with a limit. Includes Asio; only .cc files of this folder
// include it.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <utility>

namespace hairpin::link {

// Runs `step` on `io`, which has nothing else to do, and returns whether it was done in time.
// Otherwise `cancel` is called, which must make the step end soon, and its end is awaited.
template <class Cancel>
bool run_within(asio::io_context& io, asio::awaitable<void> step, std::chrono::milliseconds limit,
                Cancel cancel) {
  bool done = false;
  std::exception_ptr thrown;
  asio::co_spawn(io, std::move(step), [&](std::exception_ptr error) {
    thrown = error;
    done = true;
  });
  io.restart();
  io.run_for(limit);
  const bool in_time = done;
  if (!in_time) {
    cancel();
    io.restart();
    io.run();
  }
  io.restart();
  if (thrown) std::rethrow_exception(thrown);
  return in_time;
}

}  // namespace hairpin::link
