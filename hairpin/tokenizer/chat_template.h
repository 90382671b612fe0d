// The chat templates that are built in.
//
// A model carries its template as Jinja text. Hairpin runs no Jinja: it knows a few templates by
// the SHA-256 of their exact text and renders those itself. One newline at the end of the text is
// not counted, as Jinja drops it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hairpin::tokenizer {

// Both write a turn as `<|im_start|>ROLE\nCONTENT<|im_end|>\n`.
enum class ChatTemplate {
  chatml,   // the messages as they are
  smollm2,  // a default system message goes first where the conversation has none
};

// The template with this text; none when it is not known.
std::optional<ChatTemplate> recognise_chat_template(std::string_view jinja);

std::string known_chat_templates();  // their names, for messages

// The system message put before a conversation that does not begin with one; empty: none is put.
std::string_view default_system_message(ChatTemplate chat_template);

inline constexpr std::string_view kTurnStart = "<|im_start|>";
inline constexpr std::string_view kTurnEnd = "<|im_end|>";

// A Jinja text of `chatml`, for models that Hairpin makes (tiny_tokenizer.h).
extern const std::string_view kChatmlJinja;

}  // namespace hairpin::tokenizer
