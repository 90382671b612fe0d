#include "hairpin/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace hairpin::safetensors {
namespace {

using testing::HasSubstr;

// A file with the given header text and `data_size` bytes of data.
Bytes file_with(std::string_view header, std::size_t data_size) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.number(static_cast<std::uint64_t>(header.size()));
  writer.raw(as_byte_span(header));
  bytes.resize(bytes.size() + data_size);
  return bytes;
}

std::string refusal(std::string_view header, std::size_t data_size) {
  const auto parsed = parse_header(file_with(header, data_size), "w.safetensors");
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(parsed.error().message, HasSubstr("w.safetensors: "));
  return parsed.error().message;
}

// As Hugging Face's writer lays the same two tensors out, byte for byte.
TEST(Header, GoldenBytes) {
  const auto bytes =
      encode_header({{"a", DType::f32, {2, 3}}, {"b\"", DType::bf16, {}}}, {{"format", "pt"}});
  const std::string text =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b\"":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})";
  ASSERT_EQ(text.size(), 145u);
  const std::string golden = std::string("\x98\0\0\0\0\0\0\0", 8) + text + std::string(7, ' ');
  EXPECT_EQ(as_text(bytes), golden);
}

TEST(Header, ReadsWhateverTheKeyOrder) {
  const auto parsed = parse_header(
      file_with(
          R"({"late":{"data_offsets":[4,6],"shape":[1],"dtype":"F16"},)"
          R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
          R"("early":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},"__metadata__":{"k":"v"}})",
          6),
      "w.safetensors");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->entries.size(), 3u);
  EXPECT_EQ(parsed->entries[0].tensor, (TensorInfo{"early", DType::u8, {2, 2}}));
  EXPECT_EQ(parsed->entries[1].tensor, (TensorInfo{"empty", DType::f32, {0, 7}}));
  EXPECT_EQ(parsed->entries[2].tensor, (TensorInfo{"late", DType::f16, {1}}));
  EXPECT_EQ(parsed->entries[2].begin, 4u);
  EXPECT_EQ(parsed->metadata, (Metadata{{"k", "v"}}));
}

TEST(Header, RefusesDamagedFrames) {
  const auto refuse = [](ByteSpan bytes) {
    const auto parsed = parse_header(bytes, "w.safetensors");
    return parsed ? std::string("accepted") : parsed.error().message;
  };
  EXPECT_THAT(refuse({}), HasSubstr("too few"));
  auto cut = file_with(R"({"a":{}})", 0);
  cut.pop_back();
  EXPECT_THAT(refuse(cut), HasSubstr("states a header of 8 bytes but ends after 7"));
  Bytes huge(100);
  std::fill_n(huge.begin(), 8, std::byte{0xff});
  EXPECT_THAT(refuse(huge), HasSubstr("more than the format's"));
  EXPECT_THAT(refuse(file_with("[]", 0)), HasSubstr("doesn't start with '{'"));
  EXPECT_THAT(refuse(file_with("", 0)), HasSubstr("doesn't start with '{'"));
}

TEST(Header, RefusesBadEntriesByName) {
  const auto entry = [](std::string_view fields, std::size_t data = 4) {
    return refusal(fmt::format(R"({{"t":{{{}}}}})", fields), data);
  };
  EXPECT_EQ(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "accepted");
  EXPECT_THAT(entry(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"),
              HasSubstr("tensor \"t\" has the dtype \"F8_E4M3\""));
  EXPECT_THAT(entry(R"("dtype":3,"shape":[1],"data_offsets":[0,4])"), HasSubstr("the dtype 3"));
  for (const char* shape : {"[-1]", "[1.0]", "[\"1\"]", "1", "[9223372036854775808]", "{}"})
    EXPECT_THAT(entry(fmt::format(R"("dtype":"F32","shape":{},"data_offsets":[0,4])", shape)),
                HasSubstr("not a list of sizes"))
        << shape;
  for (const char* offsets : {"[4,0]", "[0]", "[0,4,8]", "[-4,0]", "4", "[0,4.0]"})
    EXPECT_THAT(entry(fmt::format(R"("dtype":"F32","shape":[1],"data_offsets":{})", offsets)),
                HasSubstr("not a begin and an end"))
        << offsets;
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), HasSubstr("needs 8"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4])"),
              HasSubstr("more than 64 bits"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[0,4611686018427387904,8],"data_offsets":[0,0])", 0),
              HasSubstr("more than 64 bits"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1])"), HasSubstr("not described by"));
  EXPECT_THAT(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1)"),
              HasSubstr("not described by"));
  EXPECT_THAT(refusal(R"({"t":7})", 0), HasSubstr("not described by"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"k":1}})", 0), HasSubstr("__metadata__.k"));
  EXPECT_THAT(refusal(R"({"__metadata__":[]})", 0), HasSubstr("__metadata__"));
}

TEST(Header, RefusesWhatDoesNotTileTheData) {
  const auto two = [](int begin, int end, std::size_t data) {
    return refusal(fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                               R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                               end - begin, begin, end),
                   data);
  };
  EXPECT_EQ(two(4, 8, 8), "accepted");
  EXPECT_THAT(two(3, 8, 8), HasSubstr("overlap"));
  EXPECT_THAT(two(5, 8, 8), HasSubstr("leave a gap"));
  EXPECT_THAT(two(4, 8, 7),
              HasSubstr("tensor \"b\" ends at byte 8 of the data, but there are only 7"));
  EXPECT_THAT(two(4, 8, 9), HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      2),
              HasSubstr("\"a\" occurs twice"));
}

RC_GTEST_PROP(Header, WhatIsEncodedIsRead, ()) {
  const auto shapes = *rc::gen::container<std::vector<std::vector<std::int64_t>>>(rc::gen::resize(
      4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 9))));
  std::vector<TensorInfo> tensors;
  std::uint64_t size = 0;
  for (const auto& shape : shapes) {
    const auto dtype = static_cast<DType>(*rc::gen::inRange(0, 7));
    tensors.push_back({fmt::format("t.{}", tensors.size()), dtype, shape});
    size += byte_size(tensors.back()).value();
  }
  auto bytes = encode_header(tensors, {{"format", "pt"}});
  RC_ASSERT(bytes.size() % 8 == 0u);
  const auto data_begin = bytes.size();
  bytes.resize(bytes.size() + size);
  const auto header = parse_header(bytes, "w.safetensors");
  RC_ASSERT(header.has_value());
  RC_ASSERT(header->data_begin == data_begin);
  RC_ASSERT(header->entries.size() == tensors.size());
  std::map<std::string, TensorInfo> read;
  for (const auto& entry : header->entries) read[entry.tensor.name] = entry.tensor;
  for (const auto& tensor : tensors) RC_ASSERT(read[tensor.name] == tensor);
}

// No byte of a header, changed in any way, may do worse than be refused.
RC_GTEST_PROP(Header, DamageNeverCrashes, ()) {
  auto bytes = encode_header({{"a", DType::f32, {2, 3}}, {"b", DType::bf16, {4}}}, {});
  bytes.resize(bytes.size() + 32);
  const auto count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i)
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
        static_cast<std::byte>(*rc::gen::inRange(0, 256));
  if (const auto header = parse_header(bytes, "w"))
    for (const auto& entry : header->entries)
      RC_ASSERT(entry.end + header->data_begin <= bytes.size());
}

}  // namespace
}  // namespace hairpin::safetensors
