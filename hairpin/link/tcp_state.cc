#include "hairpin/link/tcp_state.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace hairpin::link {

std::optional<TcpState> tcp_state(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  // As the kernel's own tcp_packets_in_flight().
  const std::int64_t packets =
      std::int64_t{info.tcpi_unacked} + info.tcpi_retrans - info.tcpi_sacked - info.tcpi_lost;
  TcpState state{.delivered_packets = info.tcpi_delivered, .packet_bytes = info.tcpi_snd_mss};
  state.under_way_bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(packets, 0)) * info.tcpi_snd_mss +
      info.tcpi_notsent_bytes;
  state.rtt = std::chrono::microseconds(info.tcpi_rtt);
  // The kernel's "none yet" is the greatest number.
  if (info.tcpi_min_rtt != ~std::uint32_t{0})
    state.min_rtt = std::chrono::microseconds(info.tcpi_min_rtt);
  state.unacknowledged = info.tcpi_unacked > 0;
  state.since_acknowledged = std::chrono::milliseconds(info.tcpi_last_ack_recv);
  return state;
}

}  // namespace hairpin::link
