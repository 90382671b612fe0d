// Golden bytes of docs/protocol.md, "Payloads"; what becomes of special values; what is refused.
#include "hairpin/codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hairpin/base/check.h"
#include "hairpin/codec/test_values.h"

namespace hairpin::codec {
namespace {

using wire::Codec;

constexpr auto kAll = {Codec::fp32, Codec::bf16, Codec::int8, Codec::int4};
constexpr auto kBlocked = {Codec::int8, Codec::int4};

Bytes encoded(Codec codec, const Floats& values, std::uint32_t columns) {
  const auto rows = static_cast<std::uint32_t>(columns == 0 ? 0 : values.size() / columns);
  Bytes payload(encoded_size(codec, rows, columns));
  encode(codec, values, columns, payload);
  return payload;
}

Floats round_trip(Codec codec, const Floats& values, std::uint32_t columns) {
  Floats back(values.size());
  const auto done = decode(codec, encoded(codec, values, columns), columns, back);
  EXPECT_TRUE(done) << done.error().message;
  return back;
}

std::string hex(ByteSpan bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

// +1 and -1 in the pattern whose Hadamard transform is one coefficient: number `index`.
float walsh(std::size_t i, std::size_t index) { return std::popcount(i & index) % 2 == 0 ? 1 : -1; }

TEST(Golden, PlainCodecs) {
  const Floats row{1.0f, -2.5f, 3.14159274f};
  EXPECT_EQ(hex(encoded(Codec::fp32, row, 3)),
            "0000803f"
            "000020c0"
            "db0f4940");
  EXPECT_EQ(hex(encoded(Codec::bf16, row, 3)),
            "803f"
            "20c0"
            "4940");
}

TEST(Golden, EachCoefficientHasItsPlace) {
  Floats row(64);
  for (std::size_t i = 0; i < 64; ++i) row[i] = 127 + 3 * walsh(i, 1) - 5 * walsh(i, 32);
  EXPECT_EQ(hex(encoded(Codec::int8, row, 64)),
            "803f"
            "7f03" +
                std::string(60, '0') + "fb" + std::string(62, '0'));
  EXPECT_EQ(round_trip(Codec::int8, row, 64), row);
  for (std::size_t i = 0; i < 64; ++i) row[i] = 7 + 3 * walsh(i, 1) - 5 * walsh(i, 32);
  EXPECT_EQ(hex(encoded(Codec::int4, row, 64)),
            "803f"
            "b703" +
                std::string(60, '0'));
  EXPECT_EQ(round_trip(Codec::int4, row, 64), row);
}

// Computed from the text of docs/protocol.md by a separate program.
TEST(Golden, AFullAndAShortBlock) {
  Floats row(69);
  for (int i = 0; i < 69; ++i)
    row[static_cast<std::size_t>(i)] = static_cast<float>(i * 37 % 101 - 50) / 8;
  row[11] = -300.5f;
  EXPECT_EQ(hex(encoded(Codec::int8, row, 69)),
            "413d9e67609aa7665ebc5e929a5e66a29a5e94665e9a92775e9a66a29a5e55929a5e9e5e66a29a7f5592"
            "5e9aa2665e9a92559a5e77929a5e66815e9a92555e9aa266"
            "293df1619f0f7f");
  EXPECT_EQ(hex(encoded(Codec::int4, row, 69)),
            "5b3fbb5665baab7655ac55aaba6556abaa55aa5675aaaa57659a56abaa5555aaba65"
            "403f1f750b");
}

TEST(Golden, NanBlockAndZeroBlock) {
  Floats row(64, 1.0f);
  row[5] = -kInfinity;
  EXPECT_EQ(hex(encoded(Codec::int8, row, 64)), "c07f" + std::string(128, '0'));
  EXPECT_EQ(hex(encoded(Codec::int4, row, 64)), "c07f" + std::string(64, '0'));
  EXPECT_EQ(hex(encoded(Codec::int8, {kNan, 1.0f}, 2)), "c07f0000");
  EXPECT_EQ(hex(encoded(Codec::int4, {1.0f, kNan, 2.0f}, 3)), "c07f0000");
  const Floats zeros(64, -0.0f);
  EXPECT_EQ(hex(encoded(Codec::int8, zeros, 64)), std::string(132, '0'));
  EXPECT_EQ(hex(encoded(Codec::int4, zeros, 64)), std::string(68, '0'));
}

TEST(Golden, TheSmallestScaleAndWhatIsBelowIt) {
  EXPECT_EQ(hex(encoded(Codec::int8, {-0x1p-127f}, 1)), "000000");
  EXPECT_EQ(hex(encoded(Codec::int8, {0x1p-127f + kSmallest}, 1)), "800001");
  EXPECT_EQ(hex(encoded(Codec::int4, {-0x1p-126f, 0x1p-124f}, 2)), "80004f");
}

TEST(Size, IsWhatTheShapeSays) {
  EXPECT_EQ(encoded_size(Codec::fp32, 3, 70), 840u);
  EXPECT_EQ(encoded_size(Codec::bf16, 3, 70), 420u);
  EXPECT_EQ(encoded_size(Codec::int8, 3, 70), 3u * (66 + 8));
  EXPECT_EQ(encoded_size(Codec::int4, 3, 71), 3u * (34 + 6));
  for (const auto codec : kAll) {
    EXPECT_EQ(encoded_size(codec, 5, 0), 0u);
    EXPECT_EQ(encoded_size(codec, 0, 5), 0u);
    EXPECT_TRUE(encoded(codec, {}, 0).empty());
    EXPECT_TRUE(encoded(codec, {}, 7).empty());
  }
  EXPECT_THROW(encoded_size(Codec::fp32, 0xffffffff, 0xffffffff), BrokenInvariant);
}

TEST(Encode, RowsInAnyPiecesGiveTheSameBytes) {
  for (const std::uint32_t columns : {1u, 63u, 64u, 200u, 576u})
    for (const auto codec : kAll) {
      const auto values = random_floats(5 * columns, columns);
      Bytes pieces;
      for (std::size_t row = 0; row < 5; ++row) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * columns);
        const auto one = encoded(codec, Floats(begin, begin + columns), columns);
        pieces.insert(pieces.end(), one.begin(), one.end());
      }
      EXPECT_EQ(encoded(codec, values, columns), pieces);
    }
}

TEST(Special, NanAndInfinityMakeNansOfTheirBlockOnly) {
  for (const float special : {kNan, kInfinity, -kInfinity})
    for (const auto codec : kBlocked)
      for (std::size_t at = 0; at < 150; ++at) {  // blocks of 64, 64 and 22
        auto row = random_floats(150, at);
        row[at] = special;
        const auto back = round_trip(codec, row, 150);
        for (std::size_t i = 0; i < 150; ++i)
          ASSERT_EQ(std::isnan(back[i]), i / 64 == at / 64) << "element " << i << ", at " << at;
      }
}

TEST(Special, PlainCodecsKeepNanAndInfinity) {
  for (const auto codec : {Codec::fp32, Codec::bf16}) {
    const auto back = round_trip(codec, {kNan, kInfinity, -kInfinity, -0.0f}, 4);
    EXPECT_TRUE(std::isnan(back[0]));
    EXPECT_EQ(back[1], kInfinity);
    EXPECT_EQ(back[2], -kInfinity);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back[3]), 0x80000000u);
  }
}

TEST(Special, ZerosAndDenormalsBecomeZero) {
  for (const auto codec : kBlocked)
    for (const std::size_t n : {64u, 10u})
      for (const float value : {0.0f, -0.0f, kSmallest, -0x1p-127f})
        EXPECT_EQ(bits_of(round_trip(codec, Floats(n, value), static_cast<std::uint32_t>(n))),
                  std::vector<std::uint32_t>(n, 0))
            << value;
}

TEST(Special, AnOutlierLeavesTheRestWithinTheBound) {
  for (const auto codec : kBlocked) {
    auto row = random_floats(64, 2);
    row[17] = 1e30f;
    const auto back = round_trip(codec, row, 64);
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_LE(std::abs(back[i] - row[i]), 1e30f / (codec == Codec::int8 ? 127 : 7)) << i;
  }
}

TEST(Special, TheLargestNumbersStayFinite) {
  for (const auto codec : kBlocked)
    for (const std::size_t n : {64u, 33u}) {
      Floats alone(n, 0.0f);
      alone[n / 2] = -kLargest;
      for (const auto& row : {alone, Floats(n, kLargest)})
        for (const float x : round_trip(codec, row, static_cast<std::uint32_t>(n)))
          EXPECT_TRUE(std::isfinite(x));
    }
}

std::string refusal(Codec codec, ByteSpan payload, std::uint32_t columns, std::size_t elements) {
  Floats values(elements);
  const auto done = decode(codec, payload, columns, values);
  if (done) return "accepted";
  EXPECT_EQ(done.error().kind, ErrorKind::peer);
  return done.error().message;
}

void set_scale(Bytes& payload, std::size_t at, std::uint16_t scale) {
  std::memcpy(payload.data() + at, &scale, 2);
}

TEST(Decode, RefusesAnotherSize) {
  for (const auto codec : kAll) {
    auto payload = encoded(codec, random_floats(2 * 70, 1), 70);
    const auto right = payload.size();
    for (const std::size_t size : {std::size_t{0}, right / 2, right - 1, right + 1}) {
      payload.resize(size);
      EXPECT_EQ(refusal(codec, payload, 70, 140),
                fmt::format("the peer's payload of a 2 x 70 tensor as {} has {} bytes: run the "
                            "same release of Hairpin on both sites",
                            wire::codec_name(codec), size));
    }
  }
}

TEST(Decode, RefusesScalesThatNoEncoderWrites) {
  for (const auto codec : kBlocked) {
    const auto good = encoded(codec, random_floats(2 * 70, 1), 70);
    const std::size_t row = good.size() / 2;
    const std::size_t block = codec == Codec::int8 ? 66 : 34;
    for (const std::uint16_t scale : {0x8000, 0xbf80, 0x7f80, 0xff80, 0x7f81, 0x7fc1, 0xffc0})
      for (const std::size_t at : {std::size_t{0}, block, row, row + block}) {
        auto bad = good;
        set_scale(bad, at, scale);
        EXPECT_EQ(refusal(codec, bad, 70, 140),
                  fmt::format("block {} of row {} of the peer's {} payload has the scale {:#06x}, "
                              "which no encoder writes: run the same release of Hairpin on both "
                              "sites",
                              at % row / block, at / row, wire::codec_name(codec), scale));
      }
    for (const std::uint16_t scale : {0x0000, 0x0001, 0x7f7f, 0x7fc0}) {
      auto allowed = good;
      set_scale(allowed, row, scale);
      EXPECT_EQ(refusal(codec, allowed, 70, 140), "accepted");
    }
  }
}

TEST(Decode, RefusesANibbleThatNoElementOwns) {
  auto payload = encoded(Codec::int4, random_floats(2 * 65, 1), 65);
  payload[36] |= std::byte{0x10};
  EXPECT_NE(refusal(Codec::int4, payload, 65, 130).find("row 0 of the peer's int4 payload ends in"),
            std::string::npos);
}

TEST(Decode, OwnMistakesAreBrokenInvariants) {
  Bytes payload(8);
  Floats values(5);
  EXPECT_THROW(encode(Codec::fp32, Floats(3), 3, payload), BrokenInvariant);
  EXPECT_THROW(encode(Codec::fp32, Floats(3), 2, payload), BrokenInvariant);
  EXPECT_THROW(encode(Codec::fp32, Floats(2), 0, payload), BrokenInvariant);
  EXPECT_THROW((void)decode(Codec::fp32, payload, 2, values), BrokenInvariant);
}

}  // namespace
}  // namespace hairpin::codec
