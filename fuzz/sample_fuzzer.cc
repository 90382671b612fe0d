// Any bytes as a line of chat JSONL: refused, or a conversation as docs/data.md says.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hairpin/samples/chat_line.h"
#include "hairpin/tokenizer/utf8.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using hairpin::tokenizer::Role;
  const auto messages =
      hairpin::samples::parse_chat_line({reinterpret_cast<const char*>(data), size});
  if (!messages) {
    require(!hairpin::tokenizer::first_invalid_utf8(messages.error().message));
    require(messages.error().message.size() < 200);
    return 0;
  }
  require(!messages->empty() && messages->back().role == Role::assistant);
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const auto& [role, content] = (*messages)[i];
    require(role != Role::system || i == 0);
    require(role != Role::assistant || !content.empty());
    require(i == 0 || role != (*messages)[i - 1].role);
    require(!hairpin::tokenizer::first_invalid_utf8(content));
  }
  return 0;
}
