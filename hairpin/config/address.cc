#include "hairpin/config/address.h"

#include <algorithm>
#include <charconv>

namespace hairpin::config {
namespace {

bool is_host(std::string_view host, bool bracketed) {
  const auto allowed = [&](unsigned char c) {
    if (c == ':') return bracketed;
    return c > 0x20 && c != 0x7f && c != '[' && c != ']' && c != '/';
  };
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), allowed);
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto malformed = [] {
    return bad_input("not an address; write host:port, as in \"127.0.0.1:7461\"");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed();
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!is_host(host, bracketed)) return malformed();

  Address address{std::string(host), 0};
  const auto* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, address.port);
  if (error != std::errc{} || rest != end || address.port == 0)
    return bad_input("the port is not a number from 1 to 65535; write host:port");
  return address;
}

}  // namespace hairpin::config
