// The files that belong to a model beside its weights and config.json: tokenizer, chat template,
// generation settings, licence.
#pragma once

#include <filesystem>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::hf {

// Plain names of those present in `directory`. Anything else there (weights, adapters, README,
// other frameworks' files) is not a companion.
std::vector<std::filesystem::path> companion_files(const std::filesystem::path& directory);

// Copies bytes; durable when it returns.
Result<void> copy_bytes(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace hairpin::hf
