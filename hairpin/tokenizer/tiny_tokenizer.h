// A very small tokenizer, for tests and examples that need a whole model directory: any text can be
// encoded, hardly anything is merged.
#pragma once

#include <cstdint>
#include <filesystem>

#include "hairpin/base/result.h"

namespace hairpin::tokenizer {

// Ids: 0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|> (also end of sequence), then a token a byte,
// then a few English merges.
inline constexpr std::int64_t kTinyVocabularySize = 280;

// Writes tokenizer.json, tokenizer_config.json and chat_template.jinja (ChatML) into an existing
// directory. Loads in Hairpin and in `transformers` alike, with the same ids.
Result<void> write_tiny_tokenizer(const std::filesystem::path& directory);

}  // namespace hairpin::tokenizer
