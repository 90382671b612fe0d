#include "hairpin/config/address.h"

#include <gtest/gtest.h>

namespace hairpin::config {
namespace {

TEST(AddressTest, ReadsNameIpv4AndIpv6) {
  EXPECT_EQ(parse_address("127.0.0.1:7461").value(), (Address{"127.0.0.1", 7461}));
  EXPECT_EQ(parse_address("cloud.example.org:1").value(), (Address{"cloud.example.org", 1}));
  EXPECT_EQ(parse_address("[::1]:65535").value(), (Address{"::1", 65535}));
}

TEST(AddressTest, RefusesEverythingElse) {
  for (const char* text : {"", ":", "host", "host:", ":7461", "host:0", "host:65536", "host:-1",
                           "host:+1", "host:7461x", "host: 7461", "ho st:7461", "::1:7461",
                           "[]:7461", "[::1:7461", "tcp://host:7461"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().kind, ErrorKind::bad_input);
    EXPECT_NE(address.error().message.find("write host:port"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace hairpin::config
