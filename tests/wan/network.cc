#include "tests/wan/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace hairpin::wan {
namespace {

constexpr const char* kDevice = "wan0";
// The kernel's own queue before the emulated one: enough for what comes while this process doesn't
// run.
constexpr int kKernelQueuePackets = 10000;

struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
  int fd;
};

tl::unexpected<Error> impossible(std::string_view what) {
  return bad_input("no network can be emulated here: {} ({}); it takes root and /dev/net/tun", what,
                   std::strerror(errno));
}

ifreq request_for(const char* device) {
  ifreq request{};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  return request;
}

void put_address(sockaddr& where, const std::string& address) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &ipv4.sin_addr);
  std::memcpy(&where, &ipv4, sizeof ipv4);
}

Result<void> bring_up(int socket, const char* device) {
  auto request = request_for(device);
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) return impossible("a device's flags");
  request.ifr_flags |= IFF_UP;
  if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) return impossible("a device can't be set up");
  return {};
}

Result<void> configure(const std::string& address, const std::string& peer, int mtu) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.fd < 0) return impossible("no socket");
  auto own = request_for(kDevice), other = own, size = own, queue = own;
  put_address(own.ifr_addr, address);
  put_address(other.ifr_dstaddr, peer);
  size.ifr_mtu = mtu;
  queue.ifr_qlen = kKernelQueuePackets;
  if (::ioctl(socket.fd, SIOCSIFADDR, &own) != 0 ||
      ::ioctl(socket.fd, SIOCSIFDSTADDR, &other) != 0 ||
      ::ioctl(socket.fd, SIOCSIFMTU, &size) != 0 || ::ioctl(socket.fd, SIOCSIFTXQLEN, &queue) != 0)
    return impossible("a TUN device doesn't take its address");
  HAIRPIN_CHECK_OK(bring_up(socket.fd, "lo"));
  return bring_up(socket.fd, kDevice);
}

struct Made {
  int net = -1, packets = -1;
};

// On a thread of its own, which enters the new namespace and never leaves it.
Result<Made> make_here(const std::string& address, const std::string& peer, int mtu) {
  if (::unshare(CLONE_NEWNET) != 0) return impossible("no network namespace may be made");
  Descriptor packets(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (packets.fd < 0) return impossible("/dev/net/tun doesn't open");
  auto request = request_for(kDevice);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(packets.fd, TUNSETIFF, &request) != 0) return impossible("no TUN device may be made");
  HAIRPIN_CHECK_OK(configure(address, peer, mtu));
  Descriptor net(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (net.fd < 0) return impossible("/proc has no namespaces");
  return Made{net.release(), packets.release()};
}

}  // namespace

Result<Network> Network::make(const std::string& address, const std::string& peer, int mtu) {
  Result<Made> made;
  std::thread([&] { made = make_here(address, peer, mtu); }).join();
  if (!made) return tl::unexpected(std::move(made).error());
  Network network;
  network.namespace_ = made->net;
  network.packets_ = made->packets;
  return network;
}

Network::Network(Network&& other) noexcept
    : namespace_(std::exchange(other.namespace_, -1)),
      packets_(std::exchange(other.packets_, -1)) {}

Network::~Network() {
  if (packets_ >= 0) ::close(packets_);
  if (namespace_ >= 0) ::close(namespace_);
}

std::string Network::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), namespace_); }

}  // namespace hairpin::wan
