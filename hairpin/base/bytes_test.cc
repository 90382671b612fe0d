#include "hairpin/base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace hairpin {
namespace {

TEST(Bytes, NumbersAndTextsComeBackAndAreLittleEndian) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.number(std::uint32_t{0x01020304});
  writer.number(std::int64_t{-2});
  writer.number(1.5);
  writer.text("q\0k");
  EXPECT_EQ(as_text(ByteSpan(bytes).first(4)), "\x04\x03\x02\x01");

  ByteReader reader(bytes);
  EXPECT_EQ(reader.number<std::uint32_t>(), 0x01020304u);
  EXPECT_EQ(reader.number<std::int64_t>(), -2);
  EXPECT_EQ(reader.number<double>(), 1.5);
  EXPECT_EQ(reader.text(3), "q");
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.at_end());
}

TEST(Bytes, AReadPastTheEndMakesEveryLaterOneEmpty) {
  Bytes bytes;
  ByteWriter(bytes).raw(as_byte_span("abcde"));
  ByteReader reader(bytes);
  EXPECT_NE(reader.number<std::uint16_t>(), 0);
  EXPECT_EQ(reader.number<std::uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.remaining(), 3u);
  EXPECT_EQ(reader.number<std::uint8_t>(), 0);
  EXPECT_TRUE(reader.raw(1).empty());
  EXPECT_EQ(reader.text(10), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, ATextIsBoundedBeforeItsBytesAreLookedAt) {
  const auto text_of_size = [](std::uint32_t size) {
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.number(size);
    writer.raw(as_byte_span("12345678"));
    return bytes;
  };
  const Bytes fits = text_of_size(8), long_one = text_of_size(9),
              huge = text_of_size(std::numeric_limits<std::uint32_t>::max());
  ByteReader whole(fits), bounded(fits), missing(long_one), absurd(huge);
  EXPECT_EQ(whole.text(8), "12345678");
  EXPECT_EQ(bounded.text(7), "");
  EXPECT_FALSE(bounded.ok());
  EXPECT_EQ(missing.text(9), "");
  EXPECT_FALSE(missing.ok());
  EXPECT_EQ(absurd.text(std::numeric_limits<std::size_t>::max()), "");
  EXPECT_FALSE(absurd.ok());
}

TEST(Bytes, NoBytesAreEnoughForNothing) {
  ByteReader reader({});
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.raw(0).empty());
  EXPECT_TRUE(reader.ok());
}

}  // namespace
}  // namespace hairpin
