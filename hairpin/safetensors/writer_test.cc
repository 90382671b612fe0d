#include "hairpin/safetensors/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/safetensors/reader.h"

namespace hairpin::safetensors {
namespace {

const std::vector<TensorInfo> kTensors = {
    {"a", DType::f32, {2}}, {"nothing", DType::f32, {0}}, {"b", DType::u8, {3}}};

bool is_empty(const TemporaryDirectory& directory) {
  return std::filesystem::is_empty(directory.path());
}

TEST(Writer, WritesWhatTheReaderReads) {
  const TemporaryDirectory directory;
  auto writer = Writer::create(directory / "w.safetensors", kTensors, {{"made by", "a test"}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append("a", as_byte_span("0123")));
  ASSERT_TRUE(writer->append("a", as_byte_span("4567")));
  ASSERT_TRUE(writer->append("b", as_byte_span("xyz")));
  ASSERT_TRUE(writer->commit());

  const auto reader = Reader::open(directory / "w.safetensors");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->metadata(), (Metadata{{"made by", "a test"}}));
  EXPECT_EQ(reader->entries().size(), 3u);
  ASSERT_NE(reader->find("a"), nullptr);
  EXPECT_EQ(reader->find("a")->tensor, kTensors[0]);
  EXPECT_EQ(as_text(reader->bytes(*reader->find("a"))), "01234567");
  EXPECT_EQ(as_text(reader->bytes(*reader->find("nothing"))), "");
  EXPECT_EQ(as_text(reader->bytes(*reader->find("b"))), "xyz");
  EXPECT_EQ(reader->find("c"), nullptr);
}

TEST(Writer, TensorsWithoutBytesNeedNoAppend) {
  const TemporaryDirectory directory;
  auto writer = Writer::create(directory / "w.safetensors", {kTensors[1], kTensors[2]});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append("b", as_byte_span("xyz")));
  ASSERT_TRUE(writer->commit());
  auto empty = Writer::create(directory / "v.safetensors", {});
  ASSERT_TRUE(empty);
  ASSERT_TRUE(empty->commit());
  EXPECT_TRUE(Reader::open(directory / "v.safetensors"));
}

TEST(Writer, LeavesNothingWithoutCommit) {
  const TemporaryDirectory directory;
  {
    auto writer = Writer::create(directory / "w.safetensors", kTensors);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->append("a", as_byte_span("01234567")));
    EXPECT_FALSE(std::filesystem::exists(directory / "w.safetensors"));
  }
  EXPECT_TRUE(is_empty(directory));
}

TEST(Writer, ChecksItsCaller) {
  const TemporaryDirectory directory;
  auto writer = Writer::create(directory / "w.safetensors", kTensors);
  ASSERT_TRUE(writer);
  EXPECT_THROW((void)writer->append("b", as_byte_span("x")), BrokenInvariant);
  EXPECT_THROW((void)writer->append("a", as_byte_span("012345678")), BrokenInvariant);
  EXPECT_THROW((void)writer->commit(), BrokenInvariant);
  ASSERT_TRUE(writer->append("a", as_byte_span("01234567")));
  ASSERT_TRUE(writer->append("b", as_byte_span("xyz")));
  EXPECT_THROW((void)writer->append("b", as_byte_span("x")), BrokenInvariant);
  EXPECT_THROW((void)Writer::create(directory / "v", {kTensors[0], kTensors[0]}), BrokenInvariant);
}

TEST(Writer, NamesAPlaceThatCannotBeWritten) {
  const TemporaryDirectory directory;
  const auto writer = Writer::create(directory / "no" / "w.safetensors", kTensors);
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, testing::HasSubstr("no/w.safetensors"));
}

TEST(Writer, SortsAsHuggingFaceDoes) {
  std::vector<TensorInfo> tensors = {{"b", DType::bf16, {1}},
                                     {"z", DType::f32, {1}},
                                     {"a", DType::bf16, {1}},
                                     {"y", DType::f32, {1}},
                                     {"c", DType::u8, {1}}};
  sort_as_hugging_face(tensors);
  std::string order;
  for (const auto& tensor : tensors) order += tensor.name;
  EXPECT_EQ(order, "yzabc");
}

TEST(Reader, NamesTheFile) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomic(directory / "w.safetensors", as_byte_span("12345678{}")));
  const auto reader = Reader::open(directory / "w.safetensors");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, testing::HasSubstr("w.safetensors: states a header of"));
  EXPECT_FALSE(Reader::open(directory / "none.safetensors"));
}

}  // namespace
}  // namespace hairpin::safetensors
