// tokenizer_probe MODEL_DIRECTORY < requests > answers
//
// A request is one JSON object a line:
//   {"hex": "68690a"}      text as bytes -> {"ids": [...], "text": T, "text_no_special": T}
//   {"ids": [1, 2]}        ids to decode -> {"text": T, "text_no_special": T}
//   {"messages": [...], "prompt": false}  -> {"ids": [...], "trained": [0, 1, ...]}
// Where a request is refused the answer is {"error": MESSAGE}.
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "hairpin/tokenizer/chat_tokenizer.h"
#include "hairpin/tokenizer/tokenizer.h"

namespace {

using hairpin::Result;
using hairpin::tokenizer::ChatTokenizer;
using hairpin::tokenizer::Message;
using hairpin::tokenizer::Role;
using nlohmann::json;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

json decoded(const ChatTokenizer& chat, const std::vector<std::int32_t>& ids) {
  const auto& tokenizer = chat.tokenizer();
  return {{"text", tokenizer.decode(ids, false)}, {"text_no_special", tokenizer.decode(ids, true)}};
}

Result<json> answer_text(const ChatTokenizer& chat, const std::string& text) {
  HAIRPIN_TRY(const auto ids, chat.tokenizer().encode(text));
  json out = decoded(chat, ids);
  out["ids"] = ids;
  return out;
}

Result<json> answer_messages(const ChatTokenizer& chat, const json& request) {
  std::vector<Message> messages;
  for (const auto& message : request.at("messages")) {
    const auto role = message.at("role").get<std::string>();
    messages.push_back({role == "system" ? Role::system
                        : role == "user" ? Role::user
                                         : Role::assistant,
                        message.at("content").get<std::string>()});
  }
  if (request.at("prompt").get<bool>()) {
    HAIRPIN_TRY(const auto ids, chat.render_prompt(messages));
    return json{{"ids", ids}};
  }
  HAIRPIN_TRY(const auto rendered, chat.render(messages));
  return json{{"ids", rendered.tokens}, {"trained", rendered.trained}};
}

Result<json> answer(const ChatTokenizer& chat, const json& request) {
  if (request.contains("hex")) return answer_text(chat, from_hex(request.at("hex")));
  if (request.contains("ids")) return decoded(chat, request.at("ids"));
  return answer_messages(chat, request);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tokenizer_probe MODEL_DIRECTORY < requests\n";
    return 2;
  }
  const auto chat = ChatTokenizer::load(argv[1]);
  if (!chat) {
    std::cerr << chat.error().message << "\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto result = answer(*chat, json::parse(line));
    std::cout << (result ? *result : json{{"error", result.error().message}}).dump() << "\n";
  }
  return 0;
}
