#include "hairpin/base/hash.h"

#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin {
namespace {

// FIPS 180-4's examples.
TEST(Hash, Sha256HasItsPublishedValues) {
  const auto hex = [](std::string_view text) { return to_hex(sha256(as_byte_span(text))); };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, PiecesAndFilesGiveTheSameAsTheWhole) {
  const std::string text(1000, 'x');
  Sha256 pieces;
  for (std::size_t i = 0; i < text.size(); i += 7)
    pieces.update(as_byte_span(std::string_view(text).substr(i, 7)));
  EXPECT_EQ(pieces.finish(), sha256(as_byte_span(text)));
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomic(directory / "f", as_byte_span(text)));
  EXPECT_EQ(sha256_file(directory / "f"), sha256(as_byte_span(text)));
  EXPECT_FALSE(sha256_file(directory / "none"));
}

// XXH3's own test values: the empty input and seed 0.
TEST(Hash, Xxh3HasItsPublishedValue) {
  EXPECT_EQ(xxh3({}), 0x2d06800538d394c2u);
  EXPECT_NE(xxh3(as_byte_span("a")), xxh3(as_byte_span("b")));
}

}  // namespace
}  // namespace hairpin
