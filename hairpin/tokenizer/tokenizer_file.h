// What a Hugging Face `tokenizer.json` says, for the kind that is supported: byte-level BPE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/tokenizer/added_tokens.h"
#include "hairpin/tokenizer/bpe.h"
#include "hairpin/tokenizer/pre_tokenizer.h"

namespace hairpin::tokenizer {

struct TokenizerFile {
  std::unordered_map<std::string, std::int32_t> vocabulary;  // as spelled in the file
  std::vector<Merge> merges;
  std::optional<std::int32_t> unknown;  // stands for each byte that has no token
  bool ignore_merges = false;
  std::vector<AddedToken> added;  // ids as Hugging Face assigns them
  std::vector<Cut> cuts;
};

// Reads: no normalizer; pre-tokenizer ByteLevel, or a Sequence of Digits and Split (GPT-2's pattern
// only) ending in ByteLevel; model BPE; decoder ByteLevel; a post-processor that adds no token.
// Anything else is refused with `name`, the JSON path and the unsupported value. Never crashes or
// allocates more than a small multiple of the text, whatever the text.
Result<TokenizerFile> parse_tokenizer_file(std::string_view text, std::string_view name);

}  // namespace hairpin::tokenizer
