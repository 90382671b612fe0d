// "host:port", as in link.address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::config {

struct Address {
  std::string host;  // name, IPv4, or IPv6 without its brackets
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

// "127.0.0.1:7461", "cloud.example.org:7461", "[::1]:7461". The port is 1 to 65535; whether the
// host exists is not asked.
Result<Address> parse_address(std::string_view text);

}  // namespace hairpin::config
