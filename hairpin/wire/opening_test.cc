#include "hairpin/wire/opening.h"

#include <gtest/gtest.h>

#include "hairpin/base/hash.h"

namespace hairpin::wire {
namespace {

Opening example() {
  Opening opening{.connection = 2, .connections = 4};
  opening.session.fill(std::byte{0xab});
  return opening;
}

// These bytes never change within protocol version 2.
TEST(Opening, GoldenBytes) {
  const auto bytes = encode(example());
  EXPECT_EQ(to_hex(bytes),
            "4850494e"
            "0200"
            "0204"
            "abababababababababababababababababababababababababababababababab");
  EXPECT_EQ(bytes.size(), kOpeningBytes);
  EXPECT_EQ(decode_opening(bytes).value(), example());
}

std::string refusal_of(std::size_t index, std::uint8_t value) {
  auto bytes = encode(example());
  bytes[index] = std::byte{value};
  const auto decoded = decode_opening(bytes);
  EXPECT_EQ(decoded ? ErrorKind::internal : decoded.error().kind, ErrorKind::peer);
  return decoded ? "accepted" : decoded.error().message;
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(Opening, Refusals) {
  expect_contains(refusal_of(1, 'G'), "does not speak Hairpin's protocol");
  expect_contains(refusal_of(4, 1), "version 1 and this site version 2");
  expect_contains(refusal_of(6, 4), "connection 4 of 4");
  expect_contains(refusal_of(7, 0), "connection 2 of 0");
  expect_contains(refusal_of(7, 17), "connection 2 of 17");
  const auto bytes = encode(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_opening(ByteSpan(bytes).first(size)));
}

}  // namespace
}  // namespace hairpin::wire
