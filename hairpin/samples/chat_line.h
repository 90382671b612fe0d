// One line of OpenAI-messages JSONL.
#pragma once

#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/tokenizer/chat_tokenizer.h"

namespace hairpin::samples {

// The messages of `{"messages": [{"role": R, "content": TEXT}, ...]}`: at most one system message,
// first, then user and assistant in turns, ending with an assistant's; no assistant content that is
// empty or only white space. The rules are those of docs/data.md; the error is the reason alone,
// without file and line. Pure; safe on any bytes.
Result<std::vector<tokenizer::Message>> parse_chat_line(std::string_view line);

}  // namespace hairpin::samples
