#include "hairpin/link/socket_options.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

#include "hairpin/base/log.h"

namespace hairpin::link {
namespace {

constexpr int kUnsentBytes = 128 << 10;
constexpr std::string_view kCongestionControl = "bbr";

}  // namespace

void prepare_socket(asio::ip::tcp::socket& socket) {
  asio::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCongestionControl.data(),
                   kCongestionControl.size()) != 0)
    log::debug("this kernel has no BBR for us; the link uses its default congestion control");
}

}  // namespace hairpin::link
