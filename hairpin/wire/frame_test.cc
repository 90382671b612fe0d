#include "hairpin/wire/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hairpin/base/check.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::wire {
namespace {

constexpr std::uint64_t kMax = 1 << 20;

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  std::string digits;
  for (const char c : hex)
    if (c != ' ') digits += c;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

Result<Message> decode(ByteSpan frame, std::uint64_t max = kMax) {
  HAIRPIN_TRY(const auto header, decode_header(frame, max));
  return decode_body(header, frame.subspan(kHeaderBytes));
}

// A frame around any body, with a right checksum: what a careful liar would send.
Bytes frame_around(std::uint8_t type, ByteSpan body) {
  Bytes frame = from_hex("48 50 49 4e 02 00");
  ByteWriter out(frame);
  out.number(type);
  out.number(std::uint8_t{0});
  out.number(std::uint64_t{body.size()});
  out.number(std::uint64_t{0});
  Bytes checked = frame;
  ByteWriter(checked).number(xxh3(body));
  out.number(xxh3(checked));
  out.raw(body);
  return frame;
}

std::string refusal_of(std::uint8_t type, std::string_view body_hex) {
  const auto decoded = decode(frame_around(type, from_hex(body_hex)));
  if (decoded) return "accepted";
  EXPECT_EQ(decoded.error().kind, ErrorKind::peer);
  return decoded.error().message;
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

struct Golden {
  Message message;
  std::uint64_t sequence;
  std::string header;  // hex, without the checksum
  std::string checksum;
  std::string body;
};

// One of each type. These bytes never change within protocol version 2; checksums were computed
// with a separate XXH3 program from the rule in docs/protocol.md.
std::vector<Golden> goldens() {
  TensorMessage tensor{.kind = TensorKind::gradient,
                       .codec = Codec::bf16,
                       .dtype = DType::bf16,
                       .boundary = 2,
                       .domain = 1,
                       .step = 7,
                       .microbatch = 3,
                       .shape = {1, 2},
                       .payload = from_hex("803f 0040")};
  WeightEntry entry{.name = "w", .dtype = DType::bf16, .shape = {2, 3}};
  entry.sha256.fill(std::byte{0xab});
  return {
      {Hello{2, Role::cloud, "hi"}, 0, "4850494e 0200 01 00 0900000000000000 0000000000000000",
       "58b0c4a5772fdb6e", "0200 01 02000000 6869"},
      {ContractOffer{{{"a", "bc"}, {"", ""}}}, 1,
       "4850494e 0200 02 00 1700000000000000 0100000000000000", "0e8b5ce06535dbf3",
       "02000000 01000000 61 02000000 6263 00000000 00000000"},
      {Manifest{5, {{{{4, 0}, {2, 9}}}, {}}}, 2,
       "4850494e 0200 03 00 2000000000000000 0200000000000000", "327a66730496bbc7",
       "05000000 02000000 02000000 04000000 00000000 02000000 09000000 00000000"},
      {tensor, 3, "4850494e 0200 04 00 1c00000000000000 0300000000000000", "6c9b3509dec30788",
       "01 01 01 00 0200 0100 07000000 03000000 01000000 02000000 803f 0040"},
      {StepScalars{7, 100, {{3, {1.0, -2.0}}}}, 4,
       "4850494e 0200 05 00 2800000000000000 0400000000000000", "f90e5d2c0f035293",
       "07000000 6400000000000000 01000000 03000000 02000000 000000000000f03f "
       "00000000000000c0"},
      {WeightsRequest{258}, 5, "4850494e 0200 06 00 0400000000000000 0500000000000000",
       "9eaae426353b20e7", "02010000"},
      {WeightsManifest{{entry}}, 6, "4850494e 0200 07 00 3b00000000000000 0600000000000000",
       "8e68c9b9a2a2228b",
       "01000000 01000000 77 01 02 0200000000000000 0300000000000000 "
       "abababababababababababababababababababababababababababababababab"},
      {WeightsChunk{1, 4096, from_hex("0102")}, 7,
       "4850494e 0200 08 00 0e00000000000000 0700000000000000", "d20210a63e4e5054",
       "01000000 0010000000000000 0102"},
      {Heartbeat{258, 1, 2, 3, 4, 5}, 8, "4850494e 0200 09 00 3000000000000000 0800000000000000",
       "6e867225c741c4c5",
       "0201000000000000 0100000000000000 0200000000000000 "
       "0300000000000000 0400000000000000 0500000000000000"},
      {Goodbye{}, 9, "4850494e 0200 0a 00 0000000000000000 0900000000000000", "b2ed1b1f6745ec40",
       ""},
      {Refusal{3, "no"}, 10, "4850494e 0200 0b 00 0700000000000000 0a00000000000000",
       "1254064f9264853d", "03 02000000 6e6f"},
      {StepTimes{7, 258, 8, 9, 10, 11, {{1, 2, 3, 4}}}, 11,
       "4850494e 0200 0c 00 3600000000000000 0b00000000000000", "568e329ea4d3c075",
       "07000000 0201000000000000 08000000 09000000 0a00000000000000 0b00000000000000 "
       "01000000 0100 02000000 03000000 04000000"},
  };
}

TEST(Frame, GoldenBytesOfEveryType) {
  EXPECT_EQ(goldens().size(), std::variant_size_v<Message>);
  for (const auto& golden : goldens()) {
    const auto expected = from_hex(golden.header + golden.checksum + golden.body);
    const auto frame = encode(golden.message, golden.sequence);
    EXPECT_EQ(to_hex(frame), to_hex(expected)) << message_name(golden.message);
    const auto decoded = decode(expected);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, golden.message) << message_name(golden.message);
    EXPECT_EQ(decode_header(expected, kMax)->sequence, golden.sequence);
  }
}

TEST(Frame, EveryCutAndEveryChangedByteIsRefused) {
  for (const auto& golden : goldens()) {
    const auto frame = encode(golden.message, golden.sequence);
    for (std::size_t i = 0; i < frame.size(); ++i) {
      auto changed = frame;
      changed[i] ^= std::byte{0x10};
      EXPECT_FALSE(decode(changed)) << message_name(golden.message) << " byte " << i;
      const auto cut = ByteSpan(frame).first(i);
      if (i < kHeaderBytes) {
        EXPECT_FALSE(decode_header(cut, kMax));
      } else {
        EXPECT_FALSE(decode(cut));
      }
    }
  }
}

TEST(Frame, AnotherVersionIsRefusedByBothNumbers) {
  auto frame = encode(Hello{}, 0);
  frame[4] = std::byte{3};
  const auto header = decode_header(frame, kMax);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().kind, ErrorKind::peer);
  expect_contains(header.error().message, "speaks protocol version 3 and this site version 2");
}

TEST(Frame, HeaderRefusals) {
  const auto message = [](std::size_t index, std::uint8_t value) {
    auto frame = encode(Heartbeat{}, 0);
    frame[index] = static_cast<std::byte>(value);
    return decode_header(frame, kMax).error().message;
  };
  expect_contains(message(0, 'G'), "does not speak Hairpin's protocol");
  expect_contains(message(6, 0), "type 0");
  expect_contains(message(6, 13), "type 13");
  expect_contains(message(7, 1), "flags 1");
  expect_contains(message(15, 0xff), "a frame of at most 1048576 bytes");
  expect_contains(
      decode(from_hex(to_hex(encode(Heartbeat{}, 0)).replace(48, 2, "00"))).error().message,
      "checksum");
}

TEST(Frame, BoundCountsHeaderAndBody) {
  const auto frame = encode(Heartbeat{}, 0);
  EXPECT_TRUE(decode_header(frame, frame.size()));
  EXPECT_FALSE(decode_header(frame, frame.size() - 1));
  EXPECT_FALSE(decode_header(frame, 0));
}

// Counts far beyond the bytes that are there: refused before anything is allocated.
TEST(Frame, CountsAreHeldAgainstTheBytesThatAreThere) {
  expect_contains(refusal_of(2, "ffffffff"), "fields cannot be in 0 bytes");
  expect_contains(refusal_of(3, "00000000 ffffffff 00000000"), "microbatches cannot be");
  expect_contains(refusal_of(3, "00000000 01000000 ffffff7f"), "segments cannot be");
  expect_contains(refusal_of(5, "00000000 0000000000000000 ffffffff"), "runs cannot be");
  expect_contains(refusal_of(5, "00000000 0000000000000000 01000000 00000000 ffffff1f"),
                  "norm terms cannot be");
  expect_contains(refusal_of(12, std::string(72, '0') + "ffffffff"), "stages cannot be");
  expect_contains(refusal_of(7, "ffffffff"), "entries cannot be");
  expect_contains(refusal_of(1, "0200 00 ffffffff"), "ends too early");
}

TEST(Frame, MalformedBodies) {
  expect_contains(refusal_of(1, "0200 02 00000000"), "role is 2");
  expect_contains(refusal_of(11, "00 00000000"), "exit code is 0");
  expect_contains(refusal_of(9, std::string(98, '0')), "1 bytes are left over");
  expect_contains(refusal_of(10, "00"), "1 bytes are left over");
  expect_contains(refusal_of(7, "01000000 00000000 07 00" + std::string(64, '0')), "dtype is 7");
  expect_contains(refusal_of(7, "01000000 00000000 00 09" + std::string(64, '0')),
                  "number of dims is 9");
  expect_contains(refusal_of(7, "01000000 00000000 00 08" + std::string(64, '0')),
                  "ends too early");
}

TEST(Frame, TensorPayloadMustFitShapeAndCodec) {
  const std::string place = "0000 0000 00000000 00000000";
  EXPECT_EQ(refusal_of(4, "00 00 00 00" + place + "01000000 01000000 00000000"), "accepted");
  expect_contains(refusal_of(4, "00 00 00 00" + place + "01000000 01000000 0000"),
                  "a 1 x 1 tensor as fp32 does not take 2 bytes");
  expect_contains(refusal_of(4, "00 01 00 00" + place + "01000000 01000000 00000000"),
                  "a 1 x 1 tensor as bf16 does not take 4 bytes");
  EXPECT_EQ(refusal_of(4, "00 02 00 00" + place + "01000000 01000000 000000"), "accepted");
  EXPECT_EQ(refusal_of(4, "00 03 00 00" + place + "01000000 02000000 000000"), "accepted");
  expect_contains(refusal_of(4, "00 02 00 00" + place + "01000000 01000000 0000"),
                  "a 1 x 1 tensor as int8 does not take 2 bytes");
  expect_contains(refusal_of(4, "00 03 00 00" + place + "01000000 02000000 00000000"),
                  "a 1 x 2 tensor as int4 does not take 4 bytes");
  // 2^31 x 2^31 x 4 bytes is 2^64, which is 0 in 64 bits: it must not pass for an empty payload.
  expect_contains(refusal_of(4, "00 00 00 00" + place + "00000080 00000080"), "does not take 0");
  expect_contains(refusal_of(4, "02 00 00 00" + place + "00000000 00000000"), "kind is 2");
  expect_contains(refusal_of(4, "00 04 00 00" + place + "00000000 00000000"), "codec is 4");
  expect_contains(refusal_of(4, "00 00 00 01" + place + "00000000 00000000"), "reserved byte is 1");
  // Whole numbers may not cross, whatever they are.
  expect_contains(refusal_of(4, "00 00 04 00" + place + "00000000 00000000"), "may not cross");
  expect_contains(refusal_of(4, "00 00 05 00" + place + "00000000 00000000"), "may not cross");
}

TEST(Frame, OwnBrokenMessagesAreNotSent) {
  EXPECT_THROW(encode(TensorMessage{.shape = {1, 1}}, 0), BrokenInvariant);
  EXPECT_THROW(encode(TensorMessage{.dtype = DType::i64}, 0), BrokenInvariant);
  EXPECT_THROW(encode(Refusal{0, ""}, 0), BrokenInvariant);
}

Bytes any_bytes() {
  const auto text = *rc::gen::arbitrary<std::string>();
  const auto bytes = as_byte_span(text);
  return {bytes.begin(), bytes.end()};
}

Message any_message() {
  const auto u8 = [](int end) { return static_cast<std::uint8_t>(*rc::gen::inRange(0, end)); };
  const auto u32 = [] { return *rc::gen::arbitrary<std::uint32_t>(); };
  const auto u64 = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
  const auto text = [] { return *rc::gen::arbitrary<std::string>(); };
  const auto some = [] { return *rc::gen::inRange(0, 5); };
  switch (u8(10)) {
    case 0: return Hello{static_cast<std::uint16_t>(u32()), Role{u8(2)}, text()};
    case 1: {
      ContractOffer m;
      for (int i = some(); i > 0; --i) m.fields.emplace_back(text(), text());
      return m;
    }
    case 2: {
      Manifest m{.step = u32()};
      for (int i = some(); i > 0; --i) {
        auto& microbatch = m.microbatches.emplace_back();
        for (int j = some(); j > 0; --j) microbatch.segments.push_back({u32(), u32()});
      }
      return m;
    }
    case 3: {
      TensorMessage m{.kind = TensorKind{u8(2)},
                      .codec = Codec{u8(4)},
                      .dtype = DType{u8(2)},
                      .boundary = u8(200),
                      .domain = u8(200),
                      .step = u32(),
                      .microbatch = u32(),
                      .shape = {u8(5), u8(140)}};
      m.payload.resize(m.shape[0] * row_bytes(m.codec, m.shape[1]), std::byte{u8(255)});
      return m;
    }
    case 4: {
      StepScalars m{.step = u32(), .trained_tokens = u64()};
      for (int i = some(); i > 0; --i)
        m.runs.push_back({u32(), std::vector<double>(static_cast<std::size_t>(some()), 0.5)});
      return m;
    }
    case 5: {
      WeightsManifest m;
      for (int i = some(); i > 0; --i) {
        auto& entry = m.entries.emplace_back();
        entry.name = text();
        entry.dtype = DType{u8(7)};
        entry.shape.assign(u8(9), u64());
        entry.sha256.fill(std::byte{u8(255)});
      }
      return m;
    }
    case 6: return WeightsChunk{u32(), u64(), any_bytes()};
    case 7: {
      StepTimes m{u32(), u64(), u32(), u32(), u64(), u64(), {}};
      for (int i = some(); i > 0; --i) m.stages.push_back({u8(200), u32(), u32(), u32()});
      return m;
    }
    case 8: return Heartbeat{u64(), u64(), u64(), u64(), u64(), u64()};
    default: return Refusal{static_cast<std::uint8_t>(1 + u8(4)), text()};
  }
}

RC_GTEST_PROP(Frame, RoundTrip, ()) {
  const auto message = any_message();
  const auto sequence = *rc::gen::arbitrary<std::uint64_t>();
  const auto frame = encode(message, sequence);
  const auto decoded = decode(frame);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == message);
  RC_ASSERT(encode(*decoded, sequence) == frame);
}

RC_GTEST_PROP(Frame, AnyBodyIsRefusedOrEncodesToItself, ()) {
  const auto type = static_cast<std::uint8_t>(*rc::gen::inRange(1, 13));
  const auto frame = frame_around(type, any_bytes());
  if (const auto decoded = decode(frame)) RC_ASSERT(encode(*decoded, 0) == frame);
}

}  // namespace
}  // namespace hairpin::wire
