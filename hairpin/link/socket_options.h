// What a link asks of the kernel for each of its connections. Includes Asio; only .cc files of this
// folder include it.
#pragma once

#include <asio/ip/tcp.hpp>
#include <chrono>

namespace hairpin::link {

// Small frames leave at once; little that was not sent waits in the kernel, so that what is urgent
// overtakes; the buffers stay the kernel's to tune (a size of our own would cap them); BBR paces,
// where the kernel has it and lets us, so that bulk neither fills the network's queues nor takes a
// lost packet for a full one.
void prepare_socket(asio::ip::tcp::socket& socket);

// Whether something was sent of which nothing has been acknowledged for so long, not even that the
// peer's buffer is full.
bool unacknowledged_for(asio::ip::tcp::socket& socket, std::chrono::milliseconds limit);

}  // namespace hairpin::link
