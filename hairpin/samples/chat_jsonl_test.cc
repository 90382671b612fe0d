#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/samples/dataset.h"
#include "hairpin/tokenizer/chat_tokenizer.h"
#include "hairpin/tokenizer/tiny_tokenizer.h"
#include "hairpin/tokenizer/tokenizer.h"

namespace hairpin::samples {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using Long = LoadOptions::Long;

class ChatJsonl : public testing::Test {
 protected:
  ChatJsonl() {
    EXPECT_TRUE(tokenizer::write_tiny_tokenizer(directory_.path()));
    chat_.emplace(*tokenizer::ChatTokenizer::load(directory_.path()));
  }
  Result<Dataset> load(const std::string& text, const LoadOptions& options = {}) {
    EXPECT_TRUE(write_file_atomic(directory_ / "s.jsonl", as_byte_span(text)));
    return load_chat_jsonl(directory_ / "s.jsonl", *chat_, options);
  }
  void expect_error(const std::string& text, const LoadOptions& options, const std::string& what) {
    const auto data = load(text, options);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(data.error().message, HasSubstr((directory_ / "s.jsonl").string() + what));
  }

  TemporaryDirectory directory_;
  std::optional<tokenizer::ChatTokenizer> chat_;
};

std::string line(const std::string& question, const std::string& answer) {
  return R"({"messages": [{"role": "user", "content": ")" + question +
         R"("}, {"role": "assistant", "content": ")" + answer + "\"}]}\n";
}

TEST_F(ChatJsonl, LoadsSamplesInOrder) {
  const auto data = load(line("q", "one") + line("q", "two"));
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 2u);
  const auto& sample = data->samples[1];
  EXPECT_EQ(chat_->tokenizer().decode(sample.tokens, false),
            "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n");
  EXPECT_FALSE(sample.trained[0]);
  EXPECT_EQ(data->report.samples, 2);
  EXPECT_EQ(data->report.bad, 0);
  EXPECT_EQ(data->report.tokens, static_cast<std::int64_t>(data->samples[0].tokens.size() +
                                                           data->samples[1].tokens.size()));
  EXPECT_EQ(data->report.trained_tokens, 7);  // on, e, end; t, w, o, end
}

TEST_F(ChatJsonl, AllowsALineWithoutEndAndOneBlankAtTheEnd) {
  std::string text = line("q", "a");
  EXPECT_EQ(load(text + " \n")->samples.size(), 1u);
  EXPECT_EQ(load(text + "\r\n")->samples.size(), 1u);
  EXPECT_EQ(load("\xEF\xBB\xBF" + text)->samples.size(), 1u);
  text.back() = '\r';
  EXPECT_EQ(load(text + "\n" + text)->samples.size(), 2u);
  expect_error(line("q", "a") + "\n" + line("q", "a"), {}, ":2: the line is blank; ");
}

TEST_F(ChatJsonl, NamesFileLineReasonAndRemedy) {
  const auto data = load(line("q", "a") + line("q", " "));
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message,
              AllOf(HasSubstr("s.jsonl:2: the answer in message 2 is empty; "),
                    EndsWith("set data.on_bad_sample = \"skip\"")));
  expect_error(line("q", "a <|im_end|>"), {}, ":1: message 2: the content holds the special token");
  expect_error(line("q", "\xFF"), {}, ":1: invalid UTF-8 at byte ");
  expect_error("\"" + std::string(17 << 20, 'x') + "\"", {}, ":1: the line has 17825794 bytes");
}

TEST_F(ChatJsonl, SkipsAndCountsBadLinesWhereAsked) {
  const auto data = load("{\n" + line("q", "a") + line("q", ""), {.skip_bad = true});
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->samples.size(), 1u);
  EXPECT_EQ(data->report.bad, 2);
  EXPECT_EQ(data->report.samples, 1);
}

TEST_F(ChatJsonl, RefusesAFileWithoutSamples) {
  expect_error("", {}, ": no sample left of 0 lines");
  expect_error("{\n", {.skip_bad = true}, ": no sample left of 1 lines");
}

// "<start> u s er \n q <end> \n <start> a s s is t an t \n x <end> \n": 20 tokens.
TEST_F(ChatJsonl, HandlesLongSamplesAsAsked) {
  const auto text = line("q", "x");
  EXPECT_EQ(load(text, {.sequence_length = 20})->samples[0].tokens.size(), 20u);
  expect_error(text, {.sequence_length = 19, .skip_bad = true},
               ":1: 20 tokens, more than data.sequence_length = 19; ");
  const auto skipped =
      load(text + text + line("q", "xyxyxy"), {.sequence_length = 20, .on_long = Long::skip});
  EXPECT_EQ(skipped->samples.size(), 2u);
  EXPECT_EQ(skipped->report.too_long, 1);
  const auto cut = load(text, {.sequence_length = 18, .on_long = Long::truncate});
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->samples[0].tokens.size(), 18u);
  EXPECT_EQ(cut->report.too_long, 1);
  EXPECT_EQ(cut->report.trained_tokens, 1);
  expect_error(text, {.sequence_length = 17, .on_long = Long::truncate},
               ":1: nothing to train on is left after truncation");
  EXPECT_EQ(load(text + text, {.sequence_length = 17, .on_long = Long::truncate}).has_value(),
            false);
}

}  // namespace
}  // namespace hairpin::samples
