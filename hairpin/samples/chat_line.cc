#include "hairpin/samples/chat_line.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "hairpin/json/parse.h"
#include "hairpin/tokenizer/utf8.h"

namespace hairpin::samples {
namespace {

using Json = nlohmann::json;
using tokenizer::Message;
using tokenizer::Role;

std::optional<Role> role_from_name(std::string_view name) {
  if (name == "system") return Role::system;
  if (name == "user") return Role::user;
  if (name == "assistant") return Role::assistant;
  return std::nullopt;
}

// Reasons quote little of a line: it may be long, and it is a user's data.
std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 40;
  const bool cut = text.size() > kMost;
  return tokenizer::with_replacement_characters(text.substr(0, kMost)) + (cut ? "..." : "");
}

Result<Message> parse_message(const Json& entry, std::size_t number) {
  if (!entry.is_object()) return bad_input("message {} is not an object", number);
  for (const auto& [key, value] : entry.items())
    if (key != "role" && key != "content")
      return bad_input("message {} has the unsupported key \"{}\"", number, excerpt(key));
  const auto role = entry.find("role");
  if (role == entry.end() || !role->is_string())
    return bad_input("message {} has no text \"role\"", number);
  const auto& role_name = role->get_ref<const std::string&>();
  const auto known = role_from_name(role_name);
  if (!known)
    return bad_input("message {} has the role \"{}\", not system, user or assistant", number,
                     excerpt(role_name));
  const auto content = entry.find("content");
  if (content == entry.end()) return bad_input("message {} has no \"content\"", number);
  if (!content->is_string()) return bad_input("the content of message {} is not text", number);
  return Message{*known, content->get<std::string>()};
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

Result<void> check_order(const std::vector<Message>& messages) {
  Role expected = Role::user;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Role role = messages[i].role;
    if (i == 0 && role == Role::system) continue;
    if (role != expected)
      return bad_input("message {} is from \"{}\" where \"{}\" is due", i + 1,
                       tokenizer::role_name(role), tokenizer::role_name(expected));
    if (role == Role::assistant && is_blank(messages[i].content))
      return bad_input("the answer in message {} is empty", i + 1);
    expected = role == Role::user ? Role::assistant : Role::user;
  }
  if (messages.empty() || messages.back().role != Role::assistant)
    return bad_input("the last message is not from \"assistant\", so there is nothing to train on");
  return {};
}

// What would change the prompt in ways no built-in template knows.
Result<void> check_keys(const Json& sample) {
  for (const char* key : {"tools", "functions"})
    if (sample.contains(key)) return bad_input("\"{}\" is not supported", key);
  return {};
}

}  // namespace

Result<std::vector<Message>> parse_chat_line(std::string_view line) {
  if (const auto offset = tokenizer::first_invalid_utf8(line))
    return bad_input("invalid UTF-8 at byte {} of the line", *offset);
  const auto parsed = json::parse(line, "");
  if (!parsed) return bad_input("invalid JSON, or a key twice in one object");
  const Json& sample = *parsed;
  if (!sample.is_object()) return bad_input("the line is not a JSON object");
  HAIRPIN_CHECK_OK(check_keys(sample));
  const auto list = sample.find("messages");
  if (list == sample.end() || !list->is_array()) return bad_input("no \"messages\" array");

  std::vector<Message> messages;
  for (const auto& entry : *list) {
    HAIRPIN_TRY(auto message, parse_message(entry, messages.size() + 1));
    messages.push_back(std::move(message));
  }
  HAIRPIN_CHECK_OK(check_order(messages));
  return messages;
}

}  // namespace hairpin::samples
