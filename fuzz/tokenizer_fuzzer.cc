// Any bytes as a tokenizer.json and a text for it: refused, or the text becomes ids that lie inside
// it and decode to valid UTF-8. Input: the file, a zero byte, the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "hairpin/tokenizer/tokenizer.h"
#include "hairpin/tokenizer/utf8.h"

namespace {

using namespace hairpin::tokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

void encode(const Tokenizer& tokenizer, std::string_view text) {
  const auto tokens = tokenizer.encode_with_offsets(text);
  require(tokens.has_value() == !first_invalid_utf8(text).has_value());
  if (!tokens) return;
  std::vector<std::int32_t> ids;
  std::size_t last = 0;
  for (const auto& token : *tokens) {
    require(token.id >= 0 && token.id < tokenizer.vocabulary_size());
    require(token.offset >= last && token.offset < text.size());
    last = token.offset;
    ids.push_back(token.id);
  }
  require(!first_invalid_utf8(tokenizer.decode(ids, false)));
  require(!first_invalid_utf8(tokenizer.decode(ids, true)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto zero = input.find('\0');
  const auto tokenizer = Tokenizer::parse(input.substr(0, zero), "tokenizer.json");
  if (!tokenizer) return 0;
  encode(*tokenizer, "It's 12 \u00e9\u4e2d <|im_end|>\r\n  ");
  if (zero != std::string_view::npos) encode(*tokenizer, input.substr(zero + 1));
  return 0;
}
