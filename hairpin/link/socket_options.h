// What a link asks of the kernel for each of its connections. Includes Asio; only .cc files of this
// folder include it.
#pragma once

#include <asio/ip/tcp.hpp>

namespace hairpin::link {

// Small frames leave at once; little that was not sent waits in the kernel, so that what is urgent
// overtakes; the buffers stay the kernel's to tune (a size of our own would cap them); BBR paces,
// where the kernel has it and lets us, so that bulk neither fills the network's queues nor takes a
// lost packet for a full one.
void prepare_socket(asio::ip::tcp::socket& socket);

}  // namespace hairpin::link
