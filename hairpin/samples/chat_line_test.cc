#include "hairpin/samples/chat_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hairpin::samples {
namespace {

using testing::HasSubstr;
using tokenizer::Role;

std::string reason(std::string_view line) {
  const auto parsed = parse_chat_line(line);
  return parsed ? "none" : parsed.error().message;
}

std::string with_messages(const std::string& messages) {
  return "{\"messages\": [" + messages + "]}";
}
const std::string kUser = R"({"role": "user", "content": "q"})";
const std::string kAssistant = R"({"role": "assistant", "content": "a"})";
const std::string kSystem = R"({"role": "system", "content": "s"})";

TEST(ChatLine, ReadsConversations) {
  const auto messages =
      parse_chat_line(with_messages(kSystem + "," + kUser + "," + kAssistant + "," + kUser +
                                    R"(, {"content": "\u00e9\n", "role": "assistant"})"));
  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 5u);
  EXPECT_EQ((*messages)[0].role, Role::system);
  EXPECT_EQ((*messages)[3].role, Role::user);
  EXPECT_EQ((*messages)[4].role, Role::assistant);
  EXPECT_EQ((*messages)[4].content, "\u00e9\n");
  EXPECT_EQ(reason(R"({"id": 7, "messages": [)" + kUser + "," + kAssistant + "]}"), "none");
}

TEST(ChatLine, SaysWhatIsWrong) {
  const auto answer = "," + kAssistant;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"messages\": [", "invalid JSON"},
      {"", "invalid JSON"},
      {"{\"messages\": [], \"messages\": []}", "a key twice"},
      {"{\"messages\": \"\\ud800\"}", "invalid JSON"},
      {"{\"m\": \"\xC3\"}", "invalid UTF-8 at byte 7 "},
      {"[]", "not a JSON object"},
      {"{}", "no \"messages\" array"},
      {"{\"messages\": {}}", "no \"messages\" array"},
      {"{\"messages\": []}", "nothing to train on"},
      {R"({"tools": [], "messages": []})", "\"tools\" is not supported"},
      {with_messages("1"), "message 1 is not an object"},
      {with_messages(kUser + R"(, {"role": "assistant", "content": "a", "weight": 0})"),
       "message 2 has the unsupported key \"weight\""},
      {with_messages(R"({"content": "a"})"), "message 1 has no text \"role\""},
      {with_messages(R"({"role": 1, "content": "a"})"), "message 1 has no text \"role\""},
      {with_messages(R"({"role": "tool", "content": "a"})"), "message 1 has the role \"tool\""},
      {with_messages(R"({"role": "user"})"), "message 1 has no \"content\""},
      {with_messages(R"({"role": "user", "content": ["a"]})"), "content of message 1 is not text"},
      {with_messages(R"({"role": "user", "content": null})"), "content of message 1 is not text"},
      {with_messages(kAssistant), R"(message 1 is from "assistant" where "user" is due)"},
      {with_messages(kUser + "," + kUser + answer), R"(message 2 is from "user")"},
      {with_messages(kUser + "," + kSystem + answer), R"(message 2 is from "system")"},
      {with_messages(kSystem + "," + kSystem), R"(message 2 is from "system")"},
      {with_messages(kUser), "nothing to train on"},
      {with_messages(kUser + answer + "," + kUser), "nothing to train on"},
      {with_messages(kSystem), "nothing to train on"},
      {with_messages(kUser + R"(, {"role": "assistant", "content": " \n"})"),
       "the answer in message 2 is empty"},
  };
  for (const auto& [line, expected] : cases) EXPECT_THAT(reason(line), HasSubstr(expected)) << line;
}

TEST(ChatLine, QuotesLittleOfALine) {
  const std::string role(1000, 'x');
  EXPECT_LT(reason(with_messages(R"({"role": ")" + role + R"(", "content": "a"})")).size(), 120u);
}

}  // namespace
}  // namespace hairpin::samples
