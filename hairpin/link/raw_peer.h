// A peer for tests that speaks bytes, not Hairpin: a plain TCP client at 127.0.0.1. And the bytes
// that Hairpin would speak.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "hairpin/base/bytes.h"
#include "hairpin/wire/fragment.h"
#include "hairpin/wire/opening.h"

namespace hairpin::link {

// A short message's frame in its one fragment.
inline Bytes fragment_of(const wire::Message& message, std::uint64_t sequence) {
  const auto frame = wire::encode(message, sequence);
  Bytes bytes;
  wire::encode(wire::FragmentHeader{.lane = wire::lane_of(message),
                                    .frame = sequence,
                                    .frame_bytes = frame.size(),
                                    .bytes = static_cast<std::uint32_t>(frame.size())},
               bytes);
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  return bytes;
}

class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  RawPeer(const RawPeer&) = delete;
  ~RawPeer() { close(); }

  int fd() const { return fd_; }
  void write(ByteSpan bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Everything until the other side closes.
  std::string read_all() {
    std::string all(1 << 16, '\0');
    std::size_t size = 0;
    for (ssize_t n = 1; n > 0; size += static_cast<std::size_t>(std::max<ssize_t>(n, 0)))
      n = ::recv(fd_, all.data() + size, all.size() - size, 0);
    all.resize(size);
    return all;
  }
  // So many bytes, or fewer where the other side closes.
  std::string read(std::size_t size) {
    std::string all(size, '\0');
    const auto got = ::recv(fd_, all.data(), size, MSG_WAITALL);
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return all;
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // What the kernel does for a killed process with unread data.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

 private:
  int fd_;
};

}  // namespace hairpin::link
