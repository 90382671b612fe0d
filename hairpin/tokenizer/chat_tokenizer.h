// Chat messages as token ids: a tokenizer and a chat template together.
//
// The ids are those of Hugging Face's `apply_chat_template(messages, tokenize=True)` for the
// templates of chat_template.h, unless an added token would swallow a part of a turn's marker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::tokenizer {

class Tokenizer;
enum class ChatTemplate;

enum class Role { system, user, assistant };
std::string_view role_name(Role role);  // "system", "user", "assistant"

struct Message {
  Role role = Role::user;
  std::string content;  // UTF-8
};

// `trained[i]`: token i is part of an answer: it begins inside an assistant's content, or is the
// end-of-turn token right after it. The turn's header and the newline after the turn are not; a
// token that merges the header's newline with white space at the start of the answer is not either,
// since generation, which starts right after the header, never meets it.
struct ChatTokens {
  std::vector<std::int32_t> tokens;
  std::vector<bool> trained;
};

// Immutable and safe to share between threads. Copies share one vocabulary.
class ChatTokenizer {
 public:
  // From a Hugging Face model directory: tokenizer.json, tokenizer_config.json (may be missing) and
  // the template, from chat_template.jinja or else from tokenizer_config.json. Unknown templates
  // and unsupported options are refused by name.
  static Result<ChatTokenizer> load(const std::filesystem::path& model_directory);

  // A whole conversation. The order of roles is the caller's business. Refused: content that is
  // not UTF-8, or that holds the text of a special token: as text of a user it would be read as the
  // token itself and could forge the end of a turn. The error says which message, not which file.
  Result<ChatTokens> render(std::span<const Message> messages) const;

  // The same, followed by the header of the assistant's turn: what generation starts from.
  Result<std::vector<std::int32_t>> render_prompt(std::span<const Message> messages) const;

  // Ids that end an answer: the end-of-turn token, and the model's end-of-sequence token where
  // that is another one.
  const std::vector<std::int32_t>& stop_ids() const { return stop_ids_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  ChatTokenizer() = default;
  Result<void> append_turn(const Message& message, ChatTokens& out) const;
  Result<void> append_text(std::string_view text, std::size_t trained_from, ChatTokens& out) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  ChatTemplate template_{};
  std::int32_t turn_start_ = 0, turn_end_ = 0;
  std::vector<std::int32_t> stop_ids_;
};

}  // namespace hairpin::tokenizer
