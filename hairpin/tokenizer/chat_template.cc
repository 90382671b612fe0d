#include "hairpin/tokenizer/chat_template.h"

#include <array>

#include "hairpin/base/bytes.h"
#include "hairpin/base/hash.h"

namespace hairpin::tokenizer {

const std::string_view kChatmlJinja =
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n"
    "{{ turn.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

namespace {

struct Known {
  std::string_view sha256;
  ChatTemplate chat_template;
};

// The first of each pair has line breaks in its strings, the second has them written as "\\n".
constexpr std::array<Known, 5> kKnown = {{
    {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", ChatTemplate::smollm2},
    {"de9cde7d1b0ca0cc87459a6673e0d12fb89c070bdb24e4a30b6e4d187b226221", ChatTemplate::smollm2},
    {"153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3", ChatTemplate::chatml},
    {"fcf7a096fe99a48fd9ad2b250bf9237e96e8f48bffec1c7ea4d3f225176cd40e", ChatTemplate::chatml},
    {"374505e55564a61428c365c49e888f184e5760191b381909ff7f2516603105b2",
     ChatTemplate::chatml},  // kChatmlJinja
}};

}  // namespace

std::optional<ChatTemplate> recognise_chat_template(std::string_view jinja) {
  if (jinja.ends_with('\n')) jinja.remove_suffix(1);
  const std::string digest = to_hex(sha256(as_byte_span(jinja)));
  for (const auto& known : kKnown)
    if (known.sha256 == digest) return known.chat_template;
  return std::nullopt;
}

std::string known_chat_templates() { return "ChatML, SmolLM2"; }

std::string_view default_system_message(ChatTemplate chat_template) {
  switch (chat_template) {
    case ChatTemplate::chatml: break;
    case ChatTemplate::smollm2:
      return "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  }
  return {};
}

}  // namespace hairpin::tokenizer
