#include "hairpin/tokenizer/chat_tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "hairpin/base/file.h"
#include "hairpin/json/parse.h"
#include "hairpin/tokenizer/chat_template.h"
#include "hairpin/tokenizer/json_place.h"
#include "hairpin/tokenizer/tokenizer.h"
#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

// What is read of tokenizer_config.json, and from where the template came.
struct ChatConfig {
  std::optional<std::string> jinja;
  std::string jinja_file;
  std::optional<std::string> end_of_sequence;
};

// A special token is a text, or an object that has the text as its content.
Result<std::string> token_text(const JsonPlace& place) {
  return place.json().is_object() ? place.text_at("content") : place.text();
}

Result<void> read_tokenizer_config(const std::filesystem::path& file, ChatConfig& out) {
  HAIRPIN_TRY(const auto text, read_text_file(file));
  const std::string name = file.string();
  HAIRPIN_TRY(const auto document, json::parse(text, name));
  const JsonPlace root(document, name);
  // `transformers` lets this key change what tokenizer.json says.
  HAIRPIN_CHECK_OK(root.must_be("add_prefix_space", false));
  if (const auto eos = root.find("eos_token")) {
    HAIRPIN_TRY(out.end_of_sequence, token_text(*eos));
  }
  if (const auto jinja = root.find("chat_template"); jinja && !out.jinja) {
    HAIRPIN_TRY(out.jinja, jinja->text());
    out.jinja_file = name + ": chat_template";
  }
  return {};
}

Result<ChatConfig> read_chat_config(const std::filesystem::path& directory) {
  ChatConfig config;
  std::error_code ignored;  // a file that cannot be looked at is reported when it is read
  if (const auto file = directory / "chat_template.jinja"; exists(file, ignored)) {
    HAIRPIN_TRY(config.jinja, read_text_file(file));
    config.jinja_file = file.string();
  }
  if (const auto file = directory / "tokenizer_config.json"; exists(file, ignored))
    HAIRPIN_CHECK_OK(read_tokenizer_config(file, config));
  return config;
}

Result<ChatTemplate> template_of(const ChatConfig& config, const std::filesystem::path& directory) {
  if (!config.jinja)
    return bad_input(
        "{}: no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); "
        "use an instruction-tuned model, or add the template of one of: {}",
        directory.string(), known_chat_templates());
  const auto known = recognise_chat_template(*config.jinja);
  if (!known)
    return bad_input(
        "{}: this chat template is not one of those known by their exact text ({}); use a model "
        "with one of them",
        config.jinja_file, known_chat_templates());
  return *known;
}

Result<std::int32_t> special_id(const Tokenizer& tokenizer, std::string_view content,
                                const std::filesystem::path& directory) {
  const auto id = tokenizer.find_added(content);
  if (!id || tokenizer.first_special_in(content) == nullptr)
    return bad_input(
        "{}: added_tokens: no special token \"{}\", which the chat template needs; use an intact "
        "model",
        (directory / "tokenizer.json").string(), content);
  return *id;
}

constexpr std::size_t kNotTrained = static_cast<std::size_t>(-1);

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::system: return "system";
    case Role::user: return "user";
    case Role::assistant: break;
  }
  return "assistant";
}

Result<ChatTokenizer> ChatTokenizer::load(const std::filesystem::path& model_directory) {
  ChatTokenizer chat;
  HAIRPIN_TRY(auto tokenizer, Tokenizer::load(model_directory / "tokenizer.json"));
  HAIRPIN_TRY(const auto config, read_chat_config(model_directory));
  HAIRPIN_TRY(chat.template_, template_of(config, model_directory));
  HAIRPIN_TRY(chat.turn_start_, special_id(tokenizer, kTurnStart, model_directory));
  HAIRPIN_TRY(chat.turn_end_, special_id(tokenizer, kTurnEnd, model_directory));
  chat.stop_ids_ = {chat.turn_end_};
  if (config.end_of_sequence) {
    HAIRPIN_TRY(const auto id, special_id(tokenizer, *config.end_of_sequence, model_directory));
    if (id != chat.turn_end_) chat.stop_ids_.push_back(id);
  }
  chat.tokenizer_ = std::make_shared<const Tokenizer>(std::move(tokenizer));
  return chat;
}

Result<ChatTokens> ChatTokenizer::render(std::span<const Message> messages) const {
  ChatTokens out;
  const auto system = default_system_message(template_);
  if (!messages.empty() && messages.front().role != Role::system && !system.empty())
    HAIRPIN_CHECK_OK(append_turn({Role::system, std::string(system)}, out));
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (auto done = append_turn(messages[i], out); !done)
      return bad_input("message {}: {}", i + 1, done.error().message);
  return out;
}

Result<std::vector<std::int32_t>> ChatTokenizer::render_prompt(
    std::span<const Message> messages) const {
  HAIRPIN_TRY(auto out, render(messages));
  out.tokens.push_back(turn_start_);
  out.trained.push_back(false);
  HAIRPIN_CHECK_OK(append_text("assistant\n", kNotTrained, out));
  return std::move(out.tokens);
}

Result<void> ChatTokenizer::append_turn(const Message& message, ChatTokens& out) const {
  const bool answer = message.role == Role::assistant;
  const std::string header = std::string(role_name(message.role)) + "\n";
  if (const AddedToken* token = tokenizer_->first_special_in(header + message.content))
    return bad_input("the content holds the special token \"{}\", which could forge a turn",
                     token->content);
  if (const auto offset = first_invalid_utf8(message.content))
    return bad_input("invalid UTF-8 at byte {} of the content", *offset);
  const auto add_id = [&](std::int32_t id, bool trained) {
    out.tokens.push_back(id);
    out.trained.push_back(trained);
  };
  add_id(turn_start_, false);
  HAIRPIN_CHECK_OK(
      append_text(header + message.content, answer ? header.size() : kNotTrained, out));
  add_id(turn_end_, answer);
  return append_text("\n", kNotTrained, out);
}

// Tokens that begin at `trained_from` or later are trained on.
Result<void> ChatTokenizer::append_text(std::string_view text, std::size_t trained_from,
                                        ChatTokens& out) const {
  HAIRPIN_TRY(const auto tokens, tokenizer_->encode_with_offsets(text));
  for (const auto& token : tokens) {
    out.tokens.push_back(token.id);
    out.trained.push_back(token.offset >= trained_from);
  }
  return {};
}

}  // namespace hairpin::tokenizer
